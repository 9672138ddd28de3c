// The main job of each service by clients that oapi-codegen has generated. Exits with 1 at the first answer that differs.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"clients/auth"
	"clients/inventory"
	"clients/payments"
)

var ctx = context.Background()

func main() {
	run := fmt.Sprintf("go-%d", time.Now().UnixMilli())
	signIn(run)
	pay()
	reserve(run)
}

func signIn(run string) {
	client := must(auth.NewClientWithResponses(os.Getenv("AUTH_URL")))
	email, password := run+"@example.com", "correct horse battery staple"
	created := must(client.CreateUserWithResponse(ctx, nil, auth.CreateUserRequest{
		Email: &email, Password: &password, EmailConfirm: new(true),
	}, bearer(os.Getenv("SERVICE_ROLE_KEY"))))
	check(created.StatusCode(), 200, created.Body)

	signedIn := must(client.CreateSessionWithResponse(ctx, &auth.CreateSessionParams{
		GrantType: new(auth.CreateSessionParamsGrantTypePassword),
	}, auth.CreateSessionRequest{Email: &email, Password: &password}))
	check(signedIn.StatusCode(), 200, signedIn.Body)

	user := must(client.GetUserWithResponse(ctx, nil, bearer(signedIn.JSON200.AccessToken)))
	check(user.StatusCode(), 200, user.Body)
	check(user.JSON200.Email, email, user.Body)

	refreshed := must(client.CreateSessionWithResponse(ctx, &auth.CreateSessionParams{
		GrantType: new(auth.CreateSessionParamsGrantTypeRefreshToken),
	}, auth.CreateSessionRequest{RefreshToken: &signedIn.JSON200.RefreshToken}))
	check(refreshed.StatusCode(), 200, refreshed.Body)

	signedOut := must(client.SignOutWithResponse(ctx, nil, bearer(refreshed.JSON200.AccessToken)))
	check(signedOut.StatusCode(), 204, signedOut.Body)
	fmt.Println("auth: signed in, refreshed, signed out")
}

func pay() {
	client := must(payments.NewClientWithResponses(os.Getenv("PAYMENTS_URL")))
	app := must(client.CreateAppWithResponse(ctx, payments.CreateAppRequest{}))
	check(app.StatusCode(), 201, app.Body)
	key := func(_ context.Context, request *http.Request) error {
		request.SetBasicAuth("", app.JSON201.App.Key)
		return nil
	}
	created := must(client.CreateMerchantWithResponse(ctx, nil, payments.CreateMerchantRequest{
		Test: new(true), Currency: "EUR", Email: "owner@example.com", Website: "https://shop.example.com",
		Descriptor: "CORNER SHOP", Company: payments.CreateMerchantRequestCompany{Country: "DK"},
	}, key))
	check(created.StatusCode(), 201, created.Body)
	merchant := created.JSON201.Merchant

	order := payments.CreatePaymentRequest{
		Integration: payments.CreatePaymentRequestIntegration{Key: merchant.Key},
		Amount:      &payments.CreatePaymentRequestAmount{Currency: "EUR", Exponent: 2, Value: 1099},
		Test:        &payments.CreatePaymentRequestTest{},
	}
	order.Card.Expiry = payments.CreatePaymentRequestCardExpiry{Month: 12, Year: int32(time.Now().Year() + 1)}
	try(order.Test.FromCreatePaymentRequestTest0(true))
	try(order.Card.Number.FromCreatePaymentRequestCardNumberObject(payments.CreatePaymentRequestCardNumberObject{
		Token: tokenize(client, "pcn", "1000000000010000"),
	}))
	try(order.Card.Code.FromCreatePaymentRequestCardCodeObject(payments.CreatePaymentRequestCardCodeObject{
		Token: tokenize(client, "pcsc", "123"),
	}))
	id := checkOut(client, order)

	captured := must(client.CaptureTransactionWithResponse(ctx, id, nil, payments.CaptureTransactionRequest{Amount: 1099}, key))
	check(captured.StatusCode(), 201, captured.Body)
	check(captured.JSON201.Transaction.CapturedAmount, 1099, captured.Body)
	refunded := must(client.RefundTransactionWithResponse(ctx, id, nil, payments.RefundTransactionRequest{Amount: 500}, key))
	check(refunded.StatusCode(), 201, refunded.Body)
	check(refunded.JSON201.Transaction.RefundedAmount, 500, refunded.Body)

	listed := must(client.ListTransactionsWithResponse(ctx, merchant.Id, &payments.ListTransactionsParams{Limit: 10}, key))
	check(listed.StatusCode(), 200, listed.Body)
	check(len(*listed.JSON200), 1, listed.Body)
	check((*listed.JSON200)[0].Id, id, listed.Body)
	fmt.Println("payments: paid, captured, refunded")
}

func tokenize(client *payments.ClientWithResponses, kind payments.TokenizeCardRequest1Type, value string) string {
	var card payments.TokenizeCardRequest
	try(card.FromTokenizeCardRequest1(payments.TokenizeCardRequest1{Type: kind, Value: value}))
	answer := must(client.TokenizeCardWithResponse(ctx, &payments.TokenizeCardParams{AcceptVersion: "1"}, card))
	check(answer.StatusCode(), 201, answer.Body)
	return answer.JSON201.Token
}

// checkOut sends the order with the hints of each challenge, until the answer has a transaction.
func checkOut(client *payments.ClientWithResponses, order payments.CreatePaymentRequest) string {
	hints := []string{}
	order.Hints = &hints
	for {
		answer := must(client.CreatePaymentWithResponse(ctx, &payments.CreatePaymentParams{AcceptVersion: "1"}, order))
		if answer.StatusCode() == 201 {
			return answer.JSON201.TransactionId
		}
		check(answer.StatusCode(), 200, answer.Body)
		step := payments.TakeChallengeParamsStep((*answer.JSON200.Challenges)[0].Name)
		body := bytes.NewReader(must(json.Marshal(order)))
		taken := must(client.TakeChallengeWithBodyWithResponse(ctx, step,
			&payments.TakeChallengeParams{AcceptVersion: "1"}, "application/json", body))
		check(taken.StatusCode(), 200, taken.Body)
		hints = append(hints, *taken.JSON200.Hints...)
	}
}

func reserve(run string) {
	client := must(inventory.NewClientWithResponses(os.Getenv("INVENTORY_URL")))
	product := inventory.PostProductsRequest{Sku: run, Attributes: map[string]any{"color": "red"}}
	made := must(client.PostProductsWithResponse(ctx, nil, product))
	check(made.StatusCode(), 201, made.Body)
	id := made.JSON201.Data.Id
	location := must(client.PostLocationsWithResponse(ctx, nil, inventory.PostLocationsRequest{Code: run, Name: "By Go"}))
	check(location.StatusCode(), 201, location.Body)
	locationId := location.JSON201.Data.Id

	var line inventory.MovementLine
	try(line.FromMovementLine1(inventory.MovementLine1{Type: "receive", ProductId: id, LocationId: locationId, Quantity: 10}))
	var movement inventory.PostMovementsRequest
	try(movement.FromMovementLine(line))
	received := must(client.PostMovementsWithResponse(ctx, nil, movement))
	check(received.StatusCode(), 201, received.Body)

	reserved := must(client.PostReservationsWithResponse(ctx, nil, inventory.PostReservationsRequest{
		ProductId: id, LocationId: locationId, Quantity: 3, ExpiresInSeconds: new(int32(900)),
	}))
	check(reserved.StatusCode(), 201, reserved.Body)
	committed := must(client.PostReservationsCommitWithReservationIdWithResponse(ctx, reserved.JSON201.Data.Id, nil,
		inventory.PostReservationsCommitWithReservationIdRequest{Quantity: new(int64(2))}))
	check(committed.StatusCode(), 200, committed.Body)

	read := must(client.GetProductsWithProductIdWithResponse(ctx, id, &inventory.GetProductsWithProductIdParams{
		Include: &[]inventory.GetProductsWithProductIdParamsInclude{inventory.GetProductsWithProductIdParamsIncludeStock},
	}))
	check(read.StatusCode(), 200, read.Body)
	check(*read.JSON200.Data.Stock, inventory.StockTotals{OnHand: 8, Reserved: 1, Available: 7}, read.Body)
	fmt.Println("inventory: received, reserved, committed")
}

func bearer(token string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func check[Value comparable](actual, expected Value, body []byte) {
	if actual != expected {
		try(fmt.Errorf("%v instead of %v: %s", actual, expected, body))
	}
}

func must[Value any](value Value, err error) Value {
	try(err)
	return value
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}
