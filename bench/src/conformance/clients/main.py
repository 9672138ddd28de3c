"""The main job of each service by clients that openapi-python-client has generated. Ends at the first answer that differs."""

import os
import time
from http import HTTPStatus

import httpx

from auth import AuthenticatedClient as AuthCaller
from auth import Client as AuthClient
from auth.api.account import get_user, sign_out
from auth.api.admin import create_user
from auth.api.sign_in import create_session
from auth.models import CreateSessionGrantType, CreateSessionRequest, CreateUserRequest
from inventory import AuthenticatedClient as InventoryClient
from inventory.api.locations import post_locations
from inventory.api.movements import post_movements
from inventory.api.products import get_products_with_product_id, post_products
from inventory.api.reservations import post_reservations, post_reservations_commit_with_reservation_id
from inventory.models import (
    GetProductsWithProductIdIncludeItem,
    MovementLine1,
    MovementLine1Type,
    PostLocationsRequest,
    PostProductsRequest,
    PostReservationsCommitWithReservationIdRequest,
    PostReservationsRequest,
)
from payments import AuthenticatedClient as PaymentsCaller
from payments import Client as PaymentsClient
from payments.api.access import create_app
from payments.api.checkout import create_payment, take_challenge, tokenize_card
from payments.api.merchants import create_merchant
from payments.api.transactions import capture_transaction, list_transactions, refund_transaction
from payments.models import (
    CaptureTransactionRequest,
    CreateAppRequest,
    CreateMerchantRequest,
    CreatePaymentAcceptVersion,
    CreatePaymentRequest,
    RefundTransactionRequest,
    TakeChallengeAcceptVersion,
    TakeChallengeRequest,
    TakeChallengeStep,
    TokenizeCardAcceptVersion,
    TokenizeCardRequest1,
    TokenizeCardRequest1Type,
    TokenizeCardRequest2,
    TokenizeCardRequest2Type,
)


def expect(answer, status):
    """The body of an answer with this status."""
    if answer.status_code != status:
        raise SystemExit(f"{answer.status_code} instead of {status}: {answer.content!r}")
    return answer.parsed


def check(actual, expected):
    if actual != expected:
        raise SystemExit(f"{actual!r} instead of {expected!r}")


def sign_in(run):
    url = os.environ["AUTH_URL"]
    email, password = f"{run}@example.com", "correct horse battery staple"
    operator = AuthCaller(url, token=os.environ["SERVICE_ROLE_KEY"])
    user = CreateUserRequest(email=email, password=password, email_confirm=True)
    expect(create_user.sync_detailed(client=operator, body=user), HTTPStatus.OK)

    client = AuthClient(url)
    credentials = CreateSessionRequest(email=email, password=password)
    signed_in = create_session.sync_detailed(
        client=client, body=credentials, grant_type=CreateSessionGrantType.PASSWORD
    )
    session = expect(signed_in, HTTPStatus.OK)
    caller = AuthCaller(url, token=session.access_token)
    check(expect(get_user.sync_detailed(client=caller), HTTPStatus.OK).email, email)

    refresh = CreateSessionRequest(refresh_token=session.refresh_token)
    refreshed = create_session.sync_detailed(
        client=client, body=refresh, grant_type=CreateSessionGrantType.REFRESH_TOKEN
    )
    caller = AuthCaller(url, token=expect(refreshed, HTTPStatus.OK).access_token)
    expect(sign_out.sync_detailed(client=caller), HTTPStatus.NO_CONTENT)
    print("auth: signed in, refreshed, signed out")


def pay():
    url = os.environ["PAYMENTS_URL"]
    public = PaymentsClient(url)
    app = expect(create_app.sync_detailed(client=public, body=CreateAppRequest()), HTTPStatus.CREATED).app
    caller = PaymentsCaller(url, token="", httpx_args={"auth": httpx.BasicAuth("", app.key)})
    details = CreateMerchantRequest.from_dict(
        {
            "test": True,
            "currency": "EUR",
            "email": "owner@example.com",
            "website": "https://shop.example.com",
            "descriptor": "CORNER SHOP",
            "company": {"country": "DK"},
        }
    )
    merchant = expect(create_merchant.sync_detailed(client=caller, body=details), HTTPStatus.CREATED).merchant
    order = {
        "integration": {"key": merchant.key},
        "test": True,
        "amount": {"currency": "EUR", "exponent": 2, "value": 1099},
        "card": {
            "number": {"token": tokenize(public, TokenizeCardRequest1(type_=TokenizeCardRequest1Type.PCN, value="1000000000010000"))},
            "expiry": {"month": 12, "year": time.localtime().tm_year + 1},
            "code": {"token": tokenize(public, TokenizeCardRequest2(type_=TokenizeCardRequest2Type.PCSC, value="123"))},
        },
    }
    paid = check_out(public, order)

    captured = capture_transaction.sync_detailed(paid, client=caller, body=CaptureTransactionRequest(amount=1099))
    check(expect(captured, HTTPStatus.CREATED).transaction.captured_amount, 1099)
    refunded = refund_transaction.sync_detailed(paid, client=caller, body=RefundTransactionRequest(amount=500))
    check(expect(refunded, HTTPStatus.CREATED).transaction.refunded_amount, 500)
    listed = expect(list_transactions.sync_detailed(merchant.id, client=caller, limit=10), HTTPStatus.OK)
    check([each.id for each in listed], [paid])
    print("payments: paid, captured, refunded")


def tokenize(client, card):
    answer = tokenize_card.sync_detailed(
        client=client, body=card, accept_version=TokenizeCardAcceptVersion.VALUE_0
    )
    return expect(answer, HTTPStatus.CREATED).token


def check_out(client, order):
    """Sends the order with the hints of each challenge, until the answer has a transaction."""
    hints = []
    while True:
        answer = create_payment.sync_detailed(
            client=client,
            body=CreatePaymentRequest.from_dict({**order, "hints": hints}),
            accept_version=CreatePaymentAcceptVersion.VALUE_0,
        )
        if answer.status_code == HTTPStatus.CREATED:
            return answer.parsed.transaction_id
        challenge = expect(answer, HTTPStatus.OK).challenges[0]
        taken = take_challenge.sync_detailed(
            TakeChallengeStep(challenge.name.value),
            client=client,
            body=TakeChallengeRequest.from_dict({**order, "hints": hints}),
            accept_version=TakeChallengeAcceptVersion.VALUE_0,
        )
        hints += expect(taken, HTTPStatus.OK).hints


def reserve(run):
    client = InventoryClient(os.environ["INVENTORY_URL"], token="none")
    attributes = {"color": "red"}
    made = post_products.sync_detailed(client=client, body=PostProductsRequest(sku=run, attributes=attributes))
    product = expect(made, HTTPStatus.CREATED).data.id
    place = post_locations.sync_detailed(client=client, body=PostLocationsRequest(code=run, name="By Python"))
    location = expect(place, HTTPStatus.CREATED).data.id
    line = MovementLine1(
        type_=MovementLine1Type.RECEIVE, product_id=product, location_id=location, quantity=10
    )
    expect(post_movements.sync_detailed(client=client, body=line), HTTPStatus.CREATED)

    wanted = PostReservationsRequest(
        product_id=product, location_id=location, quantity=3, expires_in_seconds=900
    )
    reserved = expect(post_reservations.sync_detailed(client=client, body=wanted), HTTPStatus.CREATED)
    committed = post_reservations_commit_with_reservation_id.sync_detailed(
        reserved.data.id, client=client, body=PostReservationsCommitWithReservationIdRequest(quantity=2)
    )
    expect(committed, HTTPStatus.OK)
    read = get_products_with_product_id.sync_detailed(
        product, client=client, include=[GetProductsWithProductIdIncludeItem.STOCK]
    )
    stock = expect(read, HTTPStatus.OK).data.stock
    check((stock.on_hand, stock.reserved, stock.available), (8, 1, 7))
    print("inventory: received, reserved, committed")


run = f"python-{int(time.time() * 1000)}"
sign_in(run)
pay()
reserve(run)
