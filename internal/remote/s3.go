package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// s3 holds the access to buckets. Their endpoint is AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or that of Amazon. The region is
// the one that the server has named for the bucket, AWS_REGION, AWS_DEFAULT_REGION or us-east-1, in this order.
type s3 struct {
	mu      sync.Mutex
	chain   *credentials.Credentials // nil: not looked up yet
	found   bool                     // credentials were found; false: requests are not signed
	regions map[string]string        // region of each bucket that a server has named
}

// emptySum is the SHA-256 of no bytes, the body of each request that reads.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signed returns a signed request for an object, or, with a query and no key, for a list of a bucket.
func (c *Client) signed(ctx context.Context, t target, h http.Header) (*http.Request, error) {
	region := c.s3.region(t.bucket)
	u, err := endpoint(t.bucket, region)
	if err != nil {
		return nil, err
	}
	u.Path += t.key
	u.RawPath = s3utils.EncodePath(u.Path) // the encoding that is signed
	if t.url != nil {
		u.RawQuery = t.url.RawQuery
	}
	v, err := c.s3.credentials(ctx)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{Method: cmp.Or(t.method, http.MethodGet), URL: u, Host: u.Host, Header: h}).WithContext(ctx)
	h.Set("X-Amz-Content-Sha256", cmp.Or(t.sum, emptySum))
	if t.size > 0 {
		req.Body, req.ContentLength = io.NopCloser(io.NewSectionReader(t.body, 0, t.size)), t.size
	}
	return signer.SignV4(*req, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, region), nil
}

// endpoint returns the URL of a bucket, with a slash at its end. A URL from the environment need not be encrypted: it was
// chosen on purpose, and a signature does not reveal the key.
func endpoint(bucket, region string) (*url.URL, error) {
	given := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	if given != "" {
		u, err := url.Parse(given)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("AWS_ENDPOINT_URL is no endpoint: want https://HOST")
		}
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + bucket + "/"
		return u, nil
	}
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	if strings.ContainsAny(bucket, "._") || strings.ToLower(bucket) != bucket { // no certificate covers such a host name
		return &url.URL{Scheme: "https", Host: host, Path: "/" + bucket + "/"}, nil
	}
	return &url.URL{Scheme: "https", Host: bucket + "." + host, Path: "/"}, nil
}

func (s *s3) region(bucket string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.regions[bucket], os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
}

// moved stores the region of a bucket that a refusal names, once for each bucket, and reports whether to repeat the request.
func (s *s3) moved(bucket string, resp *http.Response) bool {
	region := resp.Header.Get("X-Amz-Bucket-Region")
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusForbidden:
	default:
		return false
	}
	if region == "" || len(region) > 30 || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || region == s.region(bucket) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.regions[bucket] != "" {
		return false
	}
	if s.regions == nil {
		s.regions = map[string]string{}
	}
	s.regions[bucket] = region
	return true
}

func (s *s3) remedy(status int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case status == http.StatusMovedPermanently, status == http.StatusTemporaryRedirect:
		return "the bucket is elsewhere: set AWS_REGION or AWS_ENDPOINT_URL"
	case status != http.StatusForbidden && status != http.StatusUnauthorized:
		return ""
	case s.found:
		return "the credentials that were found do not permit it"
	}
	return "no credentials were found in the environment (AWS_ACCESS_KEY_ID), ~/.aws/credentials (AWS_PROFILE) or the role of the machine"
}

// credentials returns the keys for signatures; a zero Value means that requests are not signed.
func (s *s3) credentials(ctx context.Context) (credentials.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.chain == nil
	if first {
		s.chain = credentials.NewChainCredentials(providers())
	} else if !s.found {
		return credentials.Value{}, nil
	}
	metadata := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, DisableKeepAlives: true},
	}
	v, err := s.chain.GetWithContext(&credentials.CredContext{Client: metadata, Context: ctx})
	switch {
	case ctx.Err() != nil:
		s.chain = nil
		return v, ctx.Err()
	case err != nil:
		return v, fmt.Errorf("credentials: %w", scrub(err))
	}
	if first {
		s.found = v.AccessKeyID != ""
	}
	return v, nil
}

// providers returns the usual chain: the environment, the shared files, the role of a container or a machine.
func providers() []credentials.Provider {
	some := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	container := cmp.Or(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
	if container != "" || !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		some = append(some, &credentials.IAM{})
	}
	return some
}
