package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is a webhook of a transaction.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		ID           string `json:"id"`
		ExternalCode string `json:"externalCode"`
		AmountPaid   int    `json:"amountPaid"`
		Sequence     int    `json:"sequence"`
	} `json:"data"`
}

const tolerance = 5 * time.Minute

// VerifyWebhook verifies that a webhook is from Guichê and recent (Standard Webhooks), and returns its event. The body
// is as received: one that was parsed and serialized again has another signature. During a change of secrets, pass both.
func VerifyWebhook(header http.Header, body []byte, now time.Time, secrets ...string) (*Event, error) {
	seconds, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		return nil, errors.New("webhook-timestamp is missing or is not a number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return nil, errors.New("the signature is too old or in the future: is the clock of this machine right?")
	}
	signed := header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "." + string(body)
	matches := false
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 || !strings.HasPrefix(secret, "whsec_") {
			return nil, errors.New("a webhook secret is \"whsec_\" and base64: is an environment variable missing?")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		expected := mac.Sum(nil)
		for _, signature := range strings.Fields(header.Get("webhook-signature")) {
			given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
			// hmac.Equal takes the same time however near the match is.
			if strings.HasPrefix(signature, "v1,") && err == nil && hmac.Equal(given, expected) {
				matches = true
			}
		}
	}
	if !matches {
		return nil, errors.New("no signature matches: is this the secret of the client, and is the body raw?")
	}
	event := new(Event)
	if err := json.Unmarshal(body, event); err != nil || event.Type == "" {
		return nil, errors.New("the body is signed, but it is not an event")
	}
	return event, nil
}
