import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'

export interface AuthorizationRequest {
  /** The id of the attempt. A repeated request with it gets the same answer and authorizes nothing more. */
  readonly idempotencyRef: string
  readonly merchantId: string
  readonly money: Money
  readonly descriptor: string
  readonly card: {
    /** Opens the stored number. Called only where the number goes to a scheme. */
    readonly number: () => string
    /** The security code that the customer typed; null without a customer. It is not stored. */
    readonly code: (() => string) | null
    /** Last day on which the card is valid: `2066-08-31`. */
    readonly expiry: string
    readonly scheme: string | null
  }
  /** The party that starts the payment: the customer, or the merchant's server under an earlier agreement. */
  readonly initiator: 'customer' | 'merchant'
  /** Whether the first payment announced a plan. */
  readonly planned: boolean
  /** The scheme's reference of the first payment. */
  readonly networkRef: string | null
  /** The behaviour of the simulator. Other acquirers ignore it. */
  readonly scenario: Scenario
}

/** `unknown`: it is not known yet whether the amount is authorized. */
export type AuthorizationOutcome =
  | { readonly verdict: 'approved'; readonly ref: string; readonly networkRef: string | null }
  | { readonly verdict: 'declined'; readonly statusCode: string }
  | { readonly verdict: 'unknown' }

/** A capture, refund or void that is booked and that the acquirer must carry out. */
export interface AcquirerTask {
  readonly kind: 'capture' | 'refund' | 'void'
  /** Id of the trail entry. The acquirer may get the same task again. */
  readonly operationId: string
  readonly merchantId: string
  readonly transactionId: string
  readonly acquirerRef: string
  readonly money: Money
  readonly descriptor: string
}

/** `retry`: the task must be sent again later. `rejected`: it will not be carried out, so the operation is taken back. */
export type TaskOutcome =
  | { readonly verdict: 'accepted' }
  | { readonly verdict: 'rejected'; readonly reason: string }
  | { readonly verdict: 'retry' }

/** Stands for the merchant of an event that names no merchant. No merchant has this id. */
export const NO_MERCHANT = '0'.repeat(24)
/** Events of a list, beside those that wait already. */
export const EVENTS_MAX = 500

/** A list of an acquirer: the events that can be applied, and the number of the others. */
export interface AcquirerNews {
  readonly events: readonly AcquirerEvent[]
  /** Elements of the list without a readable reference. They cannot be acknowledged. */
  readonly unnamed: number
}

/**
 * An event that an acquirer reports without being asked. A reference is unique below its merchant, and an
 * event is applied once.
 */
export type AcquirerEvent = { readonly reference: string; readonly merchantId: string } & (
  | {
      readonly type: 'dispute.opened'
      readonly acquirerRef: string
      /** Minor units of `currency`. */
      readonly amount: number
      /** Undefined: the currency of the transaction. */
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
   * An event of an unknown kind or form. Its reference may be any text. Of its other fields, only the fields of a dispute are
   * stored: the disputed amount, null where it cannot be read, and the event as it was received.
   */
  | {
      readonly type: 'unknown'
      readonly kind: string
      readonly disputed?: { readonly amount: number; readonly currency?: string | undefined } | null
      readonly received?: string
    }
)

/**
 * A company that authorizes card payments and moves their money. Calls end in a bounded time and may be repeated (reference:
 * Acquirer port).
 */
export interface Acquirer {
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>
  /** The outcome of an authorization whose answer was lost, by the id of the attempt. */
  inquire(idempotencyRef: string): Promise<AuthorizationOutcome>
  /** Gives back an authorization whose client got no answer. */
  reverse(idempotencyRef: string): Promise<TaskOutcome>
  submit(task: AcquirerTask): Promise<TaskOutcome>
  /** At most `limit` events that are not acknowledged, oldest first. */
  events(limit: number): Promise<AcquirerNews>
  /** Removes events from the list, because they are applied or stored as exceptions. */
  acknowledge(references: readonly string[]): Promise<void>
}
