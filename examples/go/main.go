package main

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

//go:embed index.html
var page []byte

const price = 2590

// Order is what the page shows.
type Order struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	Code       string `json:"code"`
	QRCode     string `json:"qrCode"`
	PaymentURL string `json:"paymentUrl"`

	sequence int
}

// Shop has its orders in memory. A real shop keeps them in its database.
type Shop struct {
	guiche             *Guiche
	url, webhookSecret string

	mutex  sync.Mutex
	orders map[string]*Order
}

func main() {
	port := setting("PORT", "8000")
	sandbox := readSandbox(setting("GUICHE_SANDBOX", "../../data/sandbox.json"))
	shop := &Shop{
		guiche: &Guiche{
			BaseURL:      setting("GUICHE_URL", sandbox["baseUrl"]),
			ClientID:     setting("GUICHE_CLIENT_ID", sandbox["clientId"]),
			ClientSecret: setting("GUICHE_CLIENT_SECRET", sandbox["clientSecret"]),
		},
		url:           setting("SHOP_URL", "http://127.0.0.1:"+port),
		webhookSecret: setting("GUICHE_WEBHOOK_SECRET", sandbox["webhookSecret"]),
		orders:        map[string]*Order{},
	}
	http.HandleFunc("/", shop.showProduct)
	http.HandleFunc("/orders", shop.createOrder)
	http.HandleFunc("/orders/", shop.getOrder)
	http.HandleFunc("/webhooks/pix", shop.receiveWebhook)
	fmt.Println("The shop is open: http://127.0.0.1:" + port)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func (shop *Shop) showProduct(response http.ResponseWriter, request *http.Request) {
	if request.URL.Path != "/" {
		http.NotFound(response, request)
		return
	}
	response.Header().Set("Content-Type", "text/html; charset=utf-8")
	response.Write(page)
}

func (shop *Shop) createOrder(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		http.Error(response, "POST only", http.StatusMethodNotAllowed)
		return
	}
	order := &Order{ID: newID(), Status: "PENDING"}
	// Stored first, so that no webhook arrives before its order exists.
	shop.mutex.Lock()
	shop.orders[order.ID] = order
	shop.mutex.Unlock()
	charge, err := shop.guiche.CreateTransaction(request.Context(), map[string]any{
		"amount": price,
		// Repeated with the same key, it is still one charge.
		"idempotencyKey": order.ID,
		"externalCode":   order.ID,
		"webhookUrl":     shop.url + "/webhooks/pix",
		// Where the payment page leads back to. The visit proves nothing: the webhook does.
		"returnUrl": shop.url + "/?order=" + order.ID,
	})
	if err != nil {
		log.Print(err)
		http.Error(response, "The charge could not be created.", http.StatusBadGateway)
		return
	}
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	order.Code, order.QRCode = charge.PixResponse.URI, charge.PixResponse.QRCodeBase64
	order.PaymentURL = charge.PaymentURL
	writeJSON(response, http.StatusCreated, order)
}

func (shop *Shop) getOrder(response http.ResponseWriter, request *http.Request) {
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	order, isKnown := shop.orders[strings.TrimPrefix(request.URL.Path, "/orders/")]
	if !isKnown {
		http.NotFound(response, request)
		return
	}
	writeJSON(response, http.StatusOK, order)
}

func (shop *Shop) receiveWebhook(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
	if err != nil {
		http.Error(response, "The body cannot be read.", http.StatusBadRequest)
		return
	}
	event, err := VerifyWebhook(request.Header, body, time.Now(), shop.webhookSecret)
	if err != nil {
		http.Error(response, err.Error(), http.StatusUnauthorized)
		return
	}
	shop.mutex.Lock()
	defer shop.mutex.Unlock()
	order, isKnown := shop.orders[event.Data.ExternalCode]
	// The same event can arrive twice, and a late one is stale.
	if isKnown && event.Data.Sequence > order.sequence {
		order.sequence = event.Data.Sequence
		switch {
		case event.Type == "transaction.paid" && event.Data.AmountPaid >= price:
			order.markPaid()
		case event.Type == "transaction.refunded" || event.Type == "transaction.infraction":
			order.Status = "REFUNDED"
		case event.Type == "transaction.failed":
			order.Status = "FAILED"
		}
	}
	// Also for types that the shop does not know: after an error, Guichê would send the event again.
	response.WriteHeader(http.StatusNoContent)
}

// markPaid ships an order once. `transaction.paid` comes again, with a higher sequence, for example after a partial
// refund, a refused refund or a rejected dispute.
func (order *Order) markPaid() {
	if order.Status == "PAID" || order.Status == "REFUNDED" {
		return
	}
	order.Status = "PAID"
	fmt.Println("ship " + order.ID)
}

func writeJSON(response http.ResponseWriter, status int, value any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	if err := json.NewEncoder(response).Encode(value); err != nil {
		log.Print(err)
	}
}

func newID() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", random)
}

// setting returns an environment variable, or the fallback if it is not set or empty.
func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// readSandbox reads the file that Guichê writes for its sandbox, if it exists.
func readSandbox(path string) map[string]string {
	sandbox := map[string]string{}
	if content, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(content, &sandbox); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
	}
	return sandbox
}
