package remotetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// forbids tells why a request may not be answered: the code of an error of S3, or "". The signature is that of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func (s *Server) forbids(r *http.Request) string {
	if s.Secrets == nil || r.URL.Query().Has("X-Amz-Signature") { // a signed URL needs no header
		return ""
	}
	fields := map[string]string{}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	for _, part := range strings.Split(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/") // key, day, region, service, aws4_request
	if !ok || len(scope) != 5 {
		return "AccessDenied"
	}
	secret, known := s.Secrets[scope[0]]
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	signed := strings.Split(fields["SignedHeaders"], ";")
	switch {
	case !known:
		return "InvalidAccessKeyId"
	case err != nil || time.Since(at).Abs() > 15*time.Minute || at.Format("20060102") != scope[1]:
		return "RequestTimeTooSkewed"
	case s.Token != "" && (r.Header.Get("X-Amz-Security-Token") != s.Token || !slices.Contains(signed, "x-amz-security-token")):
		return "InvalidToken"
	case s.Region != "" && scope[2] != s.Region:
		return "AuthorizationHeaderMalformed"
	case !slices.Contains(signed, "host") || !slices.IsSorted(signed) || scope[3] != "s3":
		return "SignatureDoesNotMatch"
	}
	var canonical strings.Builder
	query := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(query)
	canonical.WriteString(r.Method + "\n" + strictly(r.URL.Path) + "\n" + strings.Join(query, "&") + "\n")
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		canonical.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical.WriteString("\n" + fields["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(scope[1:], text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	if hex.EncodeToString(key) != fields["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// strictly is a path with all but the unreserved characters of RFC 3986 and slashes as %XX.
func strictly(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(p), "+", "%20"), "%7E", "~")
	}
	return strings.Join(parts, "/")
}
