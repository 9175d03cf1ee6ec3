package roles

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/ingest/format"
)

func TestRead(t *testing.T) {
	for want, names := range map[Role]string{
		Row: `user,users,User,USER_ID,userId,UserIDs,"User ID",user-id,userid,uid,customer_no,CustomerKey,cust_id,member,Visitor ID,session_id,
			account number,client_uuid,reviewerID,listener,reader,household_key,username,user_name,login,email,user_index,hashed_user_id,
			order_id,InvoiceNo,basket-id,user.id,msno,patron`,
		Col: `item,Items,movieId,movies,MOVIE TITLE,track_uri_id,artist-mbid,ISBN,sku,asin,book_no,productCode,articles,song,StockCode,
			album_name,game-title,url,musicbrainz-artist-id,category_id,itemid,series`,
		Value: `rating,Ratings,Book-Rating,score,stars,value,plays,playcount,play_count,count,n,num_plays,total plays,quantity,Qty,weight,
			rating (1-5),overall,listens,clicks,rating_number,user_rating,number of plays,tfidf`,
		Time: `time,timestamp,Timestamp_ms,date,DateTime,ts,created_at,createdAt,created_utc,unixReviewTime,event time,date_added,
			date of review,last_played,last login,first_seen,year,day,TRANSACTION_DT,event_ts,time_utc,updated,rating_timestamp,rated_at,
			review date,when,epoch,time_added,InvoiceDate,order_date`,
		None:  `tag,age,country,watch_time,play_time_ms,time_ms,time spent,hours,days,duration,foo,brand,description,last_name,price`,
		Aside: `id,id no,Unnamed: 0,index,rownames,__index_level_0__,rating_id,review_id,thing_id,purchase_id,key,_`,
	} {
		for name := range strings.SplitSeq(unfolded(names), ",") {
			if got := Read(name); got.Role != want {
				t.Errorf("%q is %v (%q), want %v", name, got.Role, got.Word, want)
			}
		}
	}
}

// unfolded joins the lines of s without tabs and quotes.
func unfolded(s string) string {
	return strings.NewReplacer("\n", "", "\t", "", `"`, "").Replace(s)
}

// assignCases holds headers. A name is followed by # if its column holds numbers, by + if its values are consecutive.
var assignCases = []struct {
	header string
	want   []int // row, column, value; -1: none
	times  []int
	says   string // part of the error
}{
	{header: "user,item,rating#,timestamp#", want: []int{0, 1, 2}, times: []int{3}},
	{header: "timestamp#,rating#,item,user", want: []int{3, 2, 1}, times: []int{0}},
	{header: "userId#,itemId#,timestamp#", want: []int{0, 1, -1}, times: []int{2}},
	{header: "user_id,thing_id,color", says: "--columns user_id,thing_id"},
	{header: "user_id,thing_id#,stars#", want: []int{0, 1, 2}},
	{header: "index#,user,rating#", says: "--columns index,user,rating"},
	{header: "index#,user,book,rating#", want: []int{1, 2, 3}},
	{header: "id#+,user,book,rating#", want: []int{1, 2, 3}},
	{header: "rating_id#,user,book", want: []int{1, 2, -1}},
	{header: "review_id,user_id,business_id,stars#,useful#,date", want: []int{1, 2, 3}, times: []int{5}},
	{header: "order_id,product_id,add_to_cart_order#,reordered#", says: "--columns order_id,product_id,add_to_cart_order"},
	{header: "order_id,shop_id,product_id", says: "--columns shop_id,product_id"},
	{header: "order_id,product_id,customer_id,quantity#", want: []int{2, 1, 3}},
	{header: "user_id,category_id,thing_id", says: "--columns user_id,thing_id"},
	{header: "user_id,category_id,product_id,count#", want: []int{0, 2, 3}},
	{header: "user,title,category_id", says: "--columns user,category_id"},
	{header: "user,item,hours#", says: "--columns user,item,hours"},
	{header: "user,item,price#,rating#", want: []int{0, 1, 3}},
	{header: "date,user,steps#", says: "--columns user,date,steps"},
	{header: "user#,month,steps#", says: "--columns user,month,steps"},
	{header: "user,steps#,ts#", want: []int{0, 1, -1}, times: []int{2}},
	{header: "user,thing,date", want: []int{0, 1, -1}, times: []int{2}},
	{header: "x#,y#,z#", says: "--columns x,y,z"},
	{header: "user,y#,x#", says: "--columns user,x"},
	{header: "x#,i#,j#", want: []int{1, 2, 0}},
	{header: "user,item,x#,y#", says: "--columns user,item,y"},
	{header: "user,item,x#,y#", says: "--columns user,item,x)"},
	{header: "user,item,x#,tag", want: []int{0, 1, 2}},
	{header: "n#,user,item", want: []int{1, 2, 0}},
	{header: "user,item,rating#,score#", says: "--columns user,item,score"},
	{header: "user,item,last_played#", want: []int{0, 1, -1}, times: []int{2}},
	{header: "user,item,year#,month#,day#", want: []int{0, 1, -1}, times: []int{2, 3, 4}},
	{header: "user,item,year#,ts#", want: []int{0, 1, -1}, times: []int{3}},
	{header: "user,item,created_at,updated_at", want: []int{0, 1, -1}, times: []int{2, 3}},
	{header: "author,subreddit,created_utc#", want: []int{0, 1, -1}, times: []int{2}},
	{header: "timestamp#,date#", says: "users nor items"},
	{header: "user", says: "users nor items"},
	{header: "user 1,user 1,rating#", want: []int{0, 1, 2}},
	{header: ",tea#,salt#", says: "--columns 1,2,3"},
	{header: "index,tea#,salt#", says: "--columns index,tea,salt"},
	{header: "#,tea#,salt#", want: []int{1, 2, -1}},
	{header: ",user,item,rating#", want: []int{1, 2, 3}},
	{header: ",src#,dst#", want: []int{1, 2, -1}},
	{header: "user,item,rating_x#,rating_y#", says: "--columns user,item,rating_y"},
	{header: "user_x,user_y,count#", want: []int{0, 1, 2}},
	{header: "a b,c d,e f#", says: "--columns 1,2,3"},
}

func fieldsOf(header string) (fields []Field) {
	for name := range strings.SplitSeq(header, ",") {
		f := Field{Counts: strings.HasSuffix(name, "+")}
		name = strings.TrimSuffix(name, "+")
		f.Numeric = strings.HasSuffix(name, "#")
		f.Name = strings.TrimSuffix(name, "#")
		fields = append(fields, f)
	}
	return fields
}

// TestAssignHollow: if columns with names of ids are empty, the error differs from the one about missing names.
func TestAssignHollow(t *testing.T) {
	for user, want := range map[string]string{"user": "by name hold no ids", "day": "tell neither users nor items"} {
		_, err := Assign([]Field{{Name: user, Empty: true}, {Name: "item", Numeric: true}}, false)
		if !errors.Is(err, format.ErrHeader) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", user, err, want)
		}
	}
}

func TestAssign(t *testing.T) {
	for _, c := range assignCases {
		a, err := Assign(fieldsOf(c.header), false)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, new(*format.AmbiguityError)) && !errors.Is(err, format.ErrHeader) {
				t.Errorf("%s: %+v, %v", c.header, a, err)
			}
			continue
		}
		if err != nil || !slices.Equal([]int{a.Row, a.Col, a.Value}, c.want) || !slices.Equal(a.Times, c.times) {
			t.Errorf("%s: %+v, %v, want %v, times %v", c.header, a, err, c.want, c.times)
		}
		for i, f := range a.Columns {
			if f.Why == "" || f.Name != fieldsOf(c.header)[i].Name || (f.Role == "time") != slices.Contains(a.Times, i) || (f.Role == "value") != (i == a.Value) {
				t.Errorf("%s: column %d is %+v", c.header, i, f)
			}
		}
	}
}

// TestAssignCount: events have no value, whatever columns there are.
func TestAssignCount(t *testing.T) {
	for _, header := range []string{"user,item,rating#", "rating#,score#,user,item", "user,item,age#", "user,item"} {
		a, err := Assign(fieldsOf(header), true)
		if err != nil || a.Value >= 0 || a.Row != strings.Count(header[:strings.Index(header, "user")], ",") {
			t.Errorf("%s: %+v, %v", header, a, err)
		}
	}
	if _, err := Assign(fieldsOf("user,item,Count#"), true); !strings.Contains(err.Error(), "--columns user,item --value count), or") || !strings.Contains(err.Error(), "--columns user,item,Count)") {
		t.Errorf("a column of that name: %v", err)
	}
	if _, err := Assign(fieldsOf("foo,bar,baz"), true); !strings.Contains(err.Error(), "--columns foo,baz") {
		t.Errorf("unknown names: %v", err)
	}
}

// TestAssignAnyOrder: if all names are known, the order of columns does not matter; a time is never the value.
func TestAssignAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "name") }
		names := []string{
			pick("user", "userId", "Customer ID", "member_no", "SESSION"), pick("item", "movieIds", "Book No", "sku", "Track-ID"),
			pick("rating", "Stars", "n_plays", "QUANTITY", "play count"), pick("ts", "created_at", "Date", "review time", "unix_timestamp"),
			pick("comment", "country", "description"),
		}
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")
		without := rapid.Bool().Draw(t, "without value")
		var fields []Field
		for _, i := range order {
			if !without || i != 2 {
				fields = append(fields, Field{Name: names[i], Numeric: i != 4})
			}
		}
		a, err := Assign(fields, false)
		if err != nil || fields[a.Row].Name != names[0] || fields[a.Col].Name != names[1] || (a.Value < 0) != without ||
			!without && fields[a.Value].Name != names[2] || len(a.Times) != 1 || fields[a.Times[0]].Name != names[3] {
			t.Fatalf("%+v: %+v, %v", fields, a, err)
		}
	})
}

func TestGiven(t *testing.T) {
	names := []string{"When", "stars", "who", "what"}
	a, err := Given(names, []string{"WHO", "4", "stars"})
	if err != nil || a.Row != 2 || a.Col != 3 || a.Value != 1 || !slices.Equal(a.Times, []int{0}) {
		t.Errorf("got %+v, %v", a, err)
	}
	for _, columns := range [][]string{{"who", "nobody"}, {"who", "5"}, {"who", "0"}, {"who", "who"}, {"who", "what", "4"}} {
		if a, err := Given(names, columns); err == nil {
			t.Errorf("%q: %+v", columns, a)
		}
	}
}

// FuzzAssign: for any names, Assign returns different columns for the roles, or an error.
func FuzzAssign(f *testing.F) {
	for _, c := range assignCases {
		f.Add(c.header, false)
	}
	f.Fuzz(func(t *testing.T, header string, count bool) {
		fields := fieldsOf(header)
		a, err := Assign(fields, count)
		if err != nil {
			return
		}
		if n := len(fields); a.Row == a.Col || a.Row < 0 || a.Col < 0 || a.Row >= n || a.Col >= n || a.Value >= n || a.Value == a.Row || a.Value == a.Col ||
			len(a.Columns) != n || count && a.Value >= 0 || a.Value >= 0 && Read(fields[a.Value].Name).Role == Time {
			t.Fatalf("%q: %+v", header, a)
		}
	})
}

// TestChosen: a proposed flag can be typed in a shell as it is, for any names of columns.
func TestChosen(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"user_id", "Größe", "v.1"}, "--columns user_id,Größe,v.1"},
		{[]string{"a", "A", "b"}, "--columns 1,2,3"},
		{[]string{"a", "2", "b"}, "--columns 1,2,3"},
		{[]string{"a", "", "b"}, "--columns 1,2,3"},
		{[]string{"\rL", "r", "z"}, "--columns 1,2,3"},
		{[]string{"a\x1b[2J", "r", "z"}, "--columns 1,2,3"},
		{[]string{"a\u2028", "r", "z"}, "--columns 1,2,3"},
		{[]string{"~a", "#r", "{z"}, "--columns 1,2,3"},
		{[]string{"a\xff", "r", "z"}, "--columns 1,2,3"},
	} {
		if got := Chosen(c.names, "", 0, 1, 2).Flag; got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}
