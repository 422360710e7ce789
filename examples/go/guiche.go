package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Guiche calls the API with an access token, which it renews before it expires.
type Guiche struct {
	BaseURL, ClientID, ClientSecret string

	mutex   sync.Mutex
	token   string
	renewAt time.Time
}

// Charge is what the shop needs of the answer to a create.
type Charge struct {
	ID          string `json:"id"`
	PaymentURL  string `json:"paymentUrl"`
	PixResponse struct {
		URI          string `json:"uri"`
		QRCodeBase64 string `json:"qrCodeBase64"`
	} `json:"pixResponse"`
}

// Problem is an error of the API. Compare Code, not Detail.
type Problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	RequestID string `json:"requestId"`
	// How long the service asks to wait before the next try.
	RetryAfter time.Duration `json:"-"`
}

func (problem *Problem) Error() string {
	return fmt.Sprintf("%s [%s, HTTP %d, request %s]", problem.Detail, problem.Code, problem.Status, problem.RequestID)
}

// A redirect would carry the credentials to another address.
var client = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

const triesMax = 5

// If the service asks for a longer wait, the caller gets the error instead.
const retryAfterMax = time.Minute

// CreateTransaction creates a charge. The input needs an idempotency key: it makes repeating the request safe.
func (guiche *Guiche) CreateTransaction(ctx context.Context, input map[string]any) (*Charge, error) {
	body := map[string]any{"paymentMethod": "PIX", "pix": map[string]any{}}
	for name, value := range input {
		body[name] = value
	}
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		charge := new(Charge)
		err := guiche.post(ctx, "/transaction", content, charge)
		if err == nil {
			return charge, nil
		}
		// Repeated after no answer, 429 or 5xx: with the same key, it is still one charge.
		problem, isAnswer := err.(*Problem)
		if try == triesMax || (isAnswer && problem.Status != http.StatusTooManyRequests && problem.Status < 500) {
			return nil, err
		}
		pause := time.Duration(try) * 500 * time.Millisecond
		if isAnswer && problem.RetryAfter > pause {
			pause = problem.RetryAfter
		}
		if pause > retryAfterMax {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (guiche *Guiche) post(ctx context.Context, path string, content []byte, answer any) error {
	token, err := guiche.accessToken(ctx)
	if err != nil {
		return err
	}
	err = guiche.postWith(ctx, token, path, content, answer)
	if problem, isAnswer := err.(*Problem); !isAnswer || problem.Status != http.StatusUnauthorized {
		return err
	}
	// The token may have been revoked.
	guiche.drop(token)
	if token, err = guiche.accessToken(ctx); err != nil {
		return err
	}
	return guiche.postWith(ctx, token, path, content, answer)
}

func (guiche *Guiche) postWith(ctx context.Context, token, path string, content []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, guiche.BaseURL+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	return send(request, answer)
}

// The next request gets another token. A newer one, which another request may have got meanwhile, is kept.
func (guiche *Guiche) drop(token string) {
	guiche.mutex.Lock()
	defer guiche.mutex.Unlock()
	if guiche.token == token {
		guiche.renewAt = time.Time{}
	}
}

func (guiche *Guiche) accessToken(ctx context.Context) (string, error) {
	// All requests that need a token wait for one.
	guiche.mutex.Lock()
	defer guiche.mutex.Unlock()
	if time.Now().Before(guiche.renewAt) {
		return guiche.token, nil
	}
	form := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {guiche.ClientID},
		"client_secret": {guiche.ClientSecret},
	}
	request, err := http.NewRequestWithContext(
		ctx, http.MethodPost, guiche.BaseURL+"/auth/token", strings.NewReader(form.Encode()),
	)
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var grant struct {
		AccessToken string `json:"access_token"`
		// Not expires_in: in this API it is a point in time, not a lifetime.
		Lifetime int `json:"expires_in_sec"`
	}
	if err := send(request, &grant); err != nil {
		return "", err
	}
	guiche.token = grant.AccessToken
	guiche.renewAt = time.Now().Add(time.Duration(grant.Lifetime) * time.Second * 9 / 10)
	return guiche.token, nil
}

func send(request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		problem := &Problem{Code: "unexpected_answer", Detail: "The answer is not from Guichê."}
		// A problem of the API fills it in.
		_ = json.Unmarshal(content, problem)
		problem.Status = response.StatusCode
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
			problem.RetryAfter = time.Duration(seconds) * time.Second
		}
		return problem
	}
	return json.Unmarshal(content, answer)
}
