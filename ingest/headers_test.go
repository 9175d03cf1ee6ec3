package ingest

import (
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// headerCases holds first lines of published files. Each is read as its author meant it, or
// refused with an error that names the flags.
var headerCases = []intakeCase{
	{name: "Yelp", files: "review_id,user_id,business_id,stars,useful,funny,cool,date\nKU_O5,mh_-e,XQfwV,3.0,0,0,0,2018-07-07 22:09:11\n", want: []triple{{"mh_-e", "XQfwV", 3}}},
	{name: "Instacart", files: "order_id,product_id,add_to_cart_order,reordered\n2,33120,1,1\n2,28985,2,1\n", err: errAmbiguous, says: []string{"--columns order_id,product_id,add_to_cart_order", "--columns order_id,product_id)"}},
	{name: "REES46", files: "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session\n2019-10-01 00:00:00 UTC,view,44600062,2103807459595387724,,shiseido,35.79,541312140,72d76fde\n", err: errAmbiguous, says: []string{"--columns user_id,product_id", "--columns user_session,product_id"}},
	{name: "Retailrocket", files: "timestamp,visitorid,event,itemid,transactionid\n1433221332117,257597,view,355908,\n1433224214164,992329,view,248676,\n", want: []triple{one("257597", "355908"), one("992329", "248676")}},
	{name: "Last.fm 360K", files: "user-mboid\tmusicbrainz-artist-id\tartist-name\tplays\n00000c\t3bd73256\tbetty blowtorch\t2137\n", want: []triple{{"00000c", "3bd73256", 2137}}},
	{name: "Million Song triplets", files: "b80344d0\tSOAKIMP12A8C130995\t1\nb80344d1\tSOAPDEY12A81C210A9\t2\n", want: []triple{{"b80344d0", "SOAKIMP12A8C130995", 1}, {"b80344d1", "SOAPDEY12A81C210A9", 2}}},
	{name: "MovieLens tags", files: "userId,movieId,tag,timestamp\n3,260,classic,1439472355\n4,1732,dark,1573943598\n", want: []triple{one("3", "260"), one("4", "1732")}},
	{name: "Anime", files: "user_id,anime_id,rating\n1,20,-1\n2,24,10\n", want: []triple{{"1", "20", -1}, {"2", "24", 10}}},
	{name: "Goodreads interactions", files: "user_id,book_id,is_read,rating,is_reviewed\n0,948,1,5,0\n0,947,1,5,1\n", want: []triple{{"0", "947", 5}, {"0", "948", 5}}},
	{name: "Steam", files: "user_id,game,hours\n1,Portal,3.5\n2,Dota,10\n", err: errAmbiguous, says: []string{"--columns user_id,game,hours"}},
	{name: "hours with gaps", files: "user_id,game,hours\n1,Portal,3.5\n2,Dota,\n3,Rust,2\n", err: errAmbiguous, says: []string{"--columns user_id,game,hours"}},
	{name: "hours with decimal commas", files: "user_id;game;hours\n1;Portal;3,5\n2;Dota;1,25\n", err: errAmbiguous, says: []string{"--columns user_id,game,hours"}},
	{name: "prices with a sign", files: "user,item,paid\n1,a,$3.50\n2,b,$10\n", err: errAmbiguous, says: []string{"--columns user,item,paid"}},
	{name: "Reddit", files: "author,subreddit,created_utc\nann,golang,1517443200\nbob,math,1517443201\n", want: []triple{one("ann", "golang"), one("bob", "math")}},
	{name: "H&M", files: "t_dat,customer_id,article_id,price,sales_channel_id\n2018-09-20,000058a1,0663713001,0.050831,2\n", err: errAmbiguous, says: []string{"--columns customer_id,article_id,price", "--columns customer_id,article_id)"}},
	{name: "dunnhumby", files: "household_key,BASKET_ID,DAY,PRODUCT_ID,QUANTITY,SALES_VALUE\n2375,26984851472,1,1004906,1,1.39\n", err: errAmbiguous, says: []string{"QUANTITY", "SALES_VALUE"}},
	{name: "a star schema", files: "date_key,customer_key,product_key,quantity\n20200101,7,9,2\n", want: []triple{{"7", "9", 2}}},
	{name: "the id of a rating", files: "rating_id,user_id,movie_id\n901,1,10\n907,2,11\n", want: []triple{one("1", "10"), one("2", "11")}},
	{name: "an id that is unknown beside a text", files: "user_id,thing_id,color\n1,10,red\n2,11,blue\n", err: errAmbiguous, says: []string{"--columns user_id,thing_id"}},
	{name: "last played", files: "user,track,last_played\n1,10,964982703\n2,11,964982704\n", want: []triple{one("1", "10"), one("2", "11")}},
	{name: "last played behind plays", files: "last_played,plays,track,user\n964982703,5,10,1\n", want: []triple{{"1", "10", 5}}},
	{name: "days", files: "user,item,days\n1,10,30\n", err: errAmbiguous, says: []string{"--columns user,item,days"}},
	{name: "shouted, with spaces", files: "RATING DATE;MEMBER NO.;TRACK ID;NO. OF PLAYS\n2020-01-01;7;9;3\n", want: []triple{{"7", "9", 3}}},
	{name: "camels", files: "ListenerID,SongIDs,PlayCount,CreatedAt\n7,9,3,2020-01-01\n", want: []triple{{"7", "9", 3}}},
	{name: "dots", files: "user.id,item.id,event.ts\n7,9,3\n", want: []triple{one("7", "9")}},
	{name: "a pivot table of texts", files: ",tea,salt\nann,5.0,0.0\nbob,4.0,2.0\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 1,2)"}},
	{name: "a pivot table of numbers", files: "user,10,20\n1,5.0,0.0\n2,4.0,2.0\n", err: errAmbiguous, says: []string{"--header yes", "--header no"}},
	{name: "two ratings, joined by pandas", files: "user,item,rating_x,rating_y\n1,10,5,4\n", err: errAmbiguous, says: []string{"--columns user,item,rating_x)", "--columns user,item,rating_y)"}},
	{name: "nanoseconds without names", files: "1,10,1549827030000000000\n2,10,1549812470000000000\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "a time"}},
	{name: "dates of eight digits without names", files: "1,10,20240131\n2,10,20240201\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "a time"}},
	{name: "eight digits that are no dates", files: "1,10,20240131\n2,10,20240231\n", want: []triple{{"1", "10", 20240131}, {"2", "10", 20240231}}},
	{name: "pandas index that does not count", files: "index,user,rating\n17,1,3\n4,2,5\n", err: errAmbiguous},
	{name: "index of Arrow", files: "user,item,__index_level_0__\n1,10,17\n2,11,4\n", want: []triple{one("1", "10"), one("2", "11")}},
	{name: "a header of one name and blanks", files: "user,,\n1,10,3\n", err: errAmbiguous},
	{name: "a header cut off", files: "user,item\n1,10,3\n2,11,4\n", err: text.ErrFields, says: []string{":2"}},
	{name: "a header of one more name", files: "user,item,rating,time\n1,10,3\n2,11,4\n", err: text.ErrFields, says: []string{":2"}},
	{name: "names twice", files: "id,id,rating\n7,9,3\n8,8,3\n", want: []triple{{"7", "9", 3}, {"8", "8", 3}}},
	{name: "two ratings", files: "user,item,rating,predicted_rating\n1,10,3,2.9\n", err: errAmbiguous, says: []string{"--columns user,item,rating)", "--columns user,item,predicted_rating)"}},
	{name: "baskets", files: "InvoiceNo,StockCode,Quantity\n536365,85123A,6\n", want: []triple{{"536365", "85123A", 6}}},
	{name: "authors and papers", files: "author,paper,year\nann,p1,2001\nbob,p2,2002\n", want: []triple{one("ann", "p1"), one("bob", "p2")}},
	{name: "a title in a comment", files: "# ratings of 2020\n1,10,3\n2,11,4\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "units in brackets", files: "user [id],item [id],rating [1-5],time [s]\n1,10,3,964982703\n", want: []triple{{"1", "10", 3}}},
	{name: "NA below a value", files: "user,item,rating\n1,10,NA\n2,11,4\n", err: text.ErrNumber, says: []string{":2", "NA"}},
	{name: "steps of days", files: "date,user,steps\n2020-01-01,1,100\n2020-01-02,2,300\n", err: errAmbiguous, says: []string{"--columns user,steps)", "--columns user,date,steps)"}},
	{name: "letters", files: "x,y,z\n1,10,4\n2,11,5\n", err: errAmbiguous, says: []string{"--columns x,y,z)", "--columns x,y)"}},
	{name: "status and bytes of a log", files: "ip,url,status,bytes\n1.2.3.4,/a,200,512\n", err: errAmbiguous},
	{name: "grades that are no numbers", files: "student_id,course_id,grade\n1,10,A\n2,11,B\n", err: text.ErrNumber, says: []string{":2"}},
	{name: "no items", files: "time,value\n1,10\n2,11\n", err: format.ErrHeader, says: []string{"--columns"}},
	{name: "row and column", files: "col,row,val\n1,2,0.5\n", want: []triple{{"2", "1", 0.5}}},
	{name: "genes and cells", files: "gene,cell,count\nACTB,AAAC,5\n", want: []triple{{"AAAC", "ACTB", 5}}},
	{name: "two of a kind, other names", files: "user,item,rating\n1,10,3\n----\nitem;rating;user\n11;4;2\n----\nUSER_ID\tRATING\tITEM_ID\n3\t5\t12\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}, {"3", "12", 5}}},

	// Events.
	{name: "a log that is counted", files: "user,item\nann,x\nann,x\nbob,x\nann,x\n", o: Options{Events: true}, want: []triple{{"ann", "x", 3}, {"bob", "x", 1}}},
	{name: "values of events do not count", files: "user,item,rating,score\nann,x,5,1\nann,x,4,2\n", o: Options{Events: true}, want: []triple{{"ann", "x", 2}}},
	{name: "a log without names", files: "1,10,1511544070\n1,10,1511544071\n2,11,1511561733\n", o: Options{Events: true}, want: []triple{{"1", "10", 2}, {"2", "11", 1}}},
	{name: "Taobao, counted", files: "1,2268318,2520377,pv,1511544070\n1,2333346,2520771,pv,1511561733\n", o: Options{Events: true}, err: errAmbiguous, says: []string{"--columns 1,2)"}},
	{name: "events with a column of that name", files: "user,item,count\n1,10,5\n", o: Options{Events: true}, err: errAmbiguous, says: []string{"--columns user,item --value count", "--columns user,item,count"}},
	{name: "the same, chosen", files: "user,item,count\n1,10,5\n1,10,5\n", o: Options{Events: true, Columns: []string{"user", "item"}}, want: []triple{{"1", "10", 2}}},
	{name: "entries of a matrix, counted", files: mmReal + "2 2 3\n1 1 5\n1 1 6\n2 1 7\n", o: Options{Events: true}, want: []triple{{"0", "0", 2}, {"1", "0", 1}}},
}

func TestHeaders(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range headerCases {
		if seen[c.name] {
			t.Fatalf("%s twice", c.name)
		}
		seen[c.name] = true
		t.Run(c.name, c.run)
	}
}

// TestHeaderReadings: an ambiguous first line can be read as header or as data with a flag.
func TestHeaderReadings(t *testing.T) {
	const src = "customer,product\ncustomer,service\n"
	for h, want := range map[format.Header][]triple{
		format.HeaderYes: {one("customer", "service")},
		format.HeaderNo:  {one("customer", "product"), one("customer", "service")},
	} {
		if _, got, err := ingestText(t, src, Options{Header: h}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v", h, got, err)
		}
	}
	for _, o := range []Options{
		{Events: true, Columns: []string{"1", "2", "3"}}, {Events: true, Duplicates: Last},
	} {
		if _, _, err := ingestText(t, src, o); err == nil || !strings.Contains(err.Error(), "count events") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
