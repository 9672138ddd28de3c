import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'

export interface AuthorizationRequest {
  /** The id of the attempt. A repeated request with it gets the same answer and authorizes nothing more. */
  readonly idempotencyRef: string
  readonly merchantId: string
  readonly money: Money
  readonly descriptor: string
  readonly card: {
    /** Decrypts the stored number. Call it only where the number is sent to a scheme. */
    readonly number: () => string
    /** The security code that the customer typed. `null` if no customer takes part. The service does not store it. */
    readonly code: (() => string) | null
    /** The last day on which the card is valid, such as `2066-08-31`. */
    readonly expiry: string
    readonly scheme: string | null
  }
  /** The party that starts the payment: the customer, or the merchant's server under an earlier agreement. */
  readonly initiator: 'customer' | 'merchant'
  /** Whether the first payment announced a payment plan. */
  readonly planned: boolean
  /** The scheme's reference of the first payment. */
  readonly networkRef: string | null
  /** The behaviour of the simulator. Other acquirers ignore it. */
  readonly scenario: Scenario
}

/** The outcome of an authorization. `unknown`: it is not yet known whether the amount is authorized. */
export type AuthorizationOutcome =
  | { readonly verdict: 'approved'; readonly ref: string; readonly networkRef: string | null }
  | { readonly verdict: 'declined'; readonly statusCode: string }
  | { readonly verdict: 'unknown' }

/** A capture, refund or void that is booked and that the acquirer must carry out. */
export interface AcquirerTask {
  readonly kind: 'capture' | 'refund' | 'void'
  /** The id of the trail entry. The acquirer may get the same task more than once. */
  readonly operationId: string
  readonly merchantId: string
  readonly transactionId: string
  readonly acquirerRef: string
  readonly money: Money
  readonly descriptor: string
}

/** `retry`: send the task again later. `rejected`: it will not be carried out, so the service reverts the operation. */
export type TaskOutcome =
  | { readonly verdict: 'accepted' }
  | { readonly verdict: 'rejected'; readonly reason: string }
  | { readonly verdict: 'retry' }

/** A placeholder for the merchant of an event that names no merchant. No merchant has this id. */
export const NO_MERCHANT = '0'.repeat(24)
/** The number of new events in a list, in addition to those that already wait. */
export const EVENTS_MAX = 500

/** A list of an acquirer: the events that can be applied, and the number of other elements. */
export interface AcquirerNews {
  readonly events: readonly AcquirerEvent[]
  /** The number of elements in the list that have no readable reference. The service cannot acknowledge them. */
  readonly unnamed: number
}

/** An event that an acquirer reports on its own. A reference is unique per merchant, and each event is applied once. */
export type AcquirerEvent = { readonly reference: string; readonly merchantId: string } & (
  | {
      readonly type: 'dispute.opened'
      readonly acquirerRef: string
      /** In minor units of `currency`. */
      readonly amount: number
      /** If it is `undefined`, the amount is in the currency of the transaction. */
      readonly currency?: string | undefined
      readonly reasonCode: number | undefined
    }
  | { readonly type: 'dispute.won' | 'dispute.lost'; readonly disputeReference: string }
  | {
      readonly type: 'fraud'
      readonly acquirerRef: string
      readonly reason: number | undefined
      readonly reported: string | undefined
    }
  | { readonly type: 'settlement'; readonly money: Money }
  /**
   * An event of an unknown kind or form. Its reference may be any text. Other fields are stored only for a dispute: the disputed
   * amount (`null` if it cannot be read) and the event as it was received.
   */
  | {
      readonly type: 'unknown'
      readonly kind: string
      readonly disputed?: { readonly amount: number; readonly currency?: string | undefined } | null
      readonly received?: string
    }
)

/**
 * A company that authorizes card payments and moves their money. Calls end within a time limit and may be repeated (reference:
 * Acquirer port).
 */
export interface Acquirer {
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>
  /** Returns the outcome of an authorization whose answer was lost, by the id of the attempt. */
  inquire(idempotencyRef: string): Promise<AuthorizationOutcome>
  /** Gives back an authorization whose client got no answer. */
  reverse(idempotencyRef: string): Promise<TaskOutcome>
  submit(task: AcquirerTask): Promise<TaskOutcome>
  /** Returns at most `limit` events that are not acknowledged, oldest first. */
  events(limit: number): Promise<AcquirerNews>
  /** Removes events from the acquirer's list after they are applied or stored as exceptions. */
  acknowledge(references: readonly string[]): Promise<void>
}
