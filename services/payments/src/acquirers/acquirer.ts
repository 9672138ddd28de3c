import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'

/** What is asked of an acquirer: to reserve an amount on a card. */
export interface AuthorizationRequest {
  /** The attempt's id: a request that is repeated with it is answered alike and reserves nothing more. */
  readonly idempotencyRef: string
  readonly merchantId: string
  readonly money: Money
  /** Text on the cardholder's statement. */
  readonly descriptor: string
  readonly card: {
    /** Opens the stored number; called only where it goes to a card network. */
    readonly number: () => string
    /** The security code, where a customer gave it; it is kept nowhere. */
    readonly code: (() => string) | null
    /** Last day on which the card is good: `2066-08-31`. */
    readonly expiry: string
    readonly scheme: string | null
  }
  /** Who pays now: the customer in person, or the merchant's server on an earlier agreement. */
  readonly initiator: 'customer' | 'merchant'
  /** Whether the first payment announced a plan. */
  readonly planned: boolean
  /** The network's reference of the first payment. */
  readonly networkRef: string | null
  /** How the simulator is to behave; of no use to others. */
  readonly scenario: Scenario
}

/** `unknown`: nobody can tell yet whether the amount is reserved. */
export type AuthorizationOutcome =
  | { readonly verdict: 'approved'; readonly ref: string; readonly networkRef: string | null }
  | { readonly verdict: 'declined'; readonly statusCode: string }
  | { readonly verdict: 'unknown' }

/** A capture, refund or void that our books have decided and the acquirer must follow. */
export interface AcquirerTask {
  readonly kind: 'capture' | 'refund' | 'void'
  /** Id of the trail entry: the same task may come again. */
  readonly operationId: string
  readonly merchantId: string
  readonly transactionId: string
  /** The acquirer's reference of the authorization. */
  readonly acquirerRef: string
  readonly money: Money
  readonly descriptor: string
}

/** `retry`: later again. `rejected`: never, so the books take the operation back. */
export type TaskOutcome =
  | { readonly verdict: 'accepted' }
  | { readonly verdict: 'rejected'; readonly reason: string }
  | { readonly verdict: 'retry' }

/** Stands for the merchant of an event that names none. No merchant has this id. */
export const NO_MERCHANT = '0'.repeat(24)
/** Events that are asked for at once. */
export const EVENTS_LIMIT = 500

/** Events that an acquirer has for us. */
export interface AcquirerNews {
  readonly events: readonly AcquirerEvent[]
  /** Elements of the list without a readable reference. Nobody can acknowledge them. */
  readonly unnamed: number
}

/** What an acquirer tells us of its own accord. References are unique below the merchant, and an event is applied once. */
export type AcquirerEvent = { readonly reference: string; readonly merchantId: string } & (
  | {
      readonly type: 'dispute.opened'
      /** The acquirer's reference of the authorization. */
      readonly acquirerRef: string
      /** Minor units of the transaction's currency. */
      readonly amount: number
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
  /** Of a kind or form that we do not know. Its reference may be any text; what else it says is not kept. */
  | { readonly type: 'unknown'; readonly kind: string }
)

/** A company that reserves and moves card money. Every call is bounded in time and may be repeated (reference: Acquirer port). */
export interface Acquirer {
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>
  /** What became of an authorization whose answer was lost, by the attempt's id. */
  inquire(idempotencyRef: string): Promise<AuthorizationOutcome>
  /** Gives back a reservation that nobody was told of. */
  reverse(idempotencyRef: string): Promise<TaskOutcome>
  submit(task: AcquirerTask): Promise<TaskOutcome>
  /** At most EVENTS_LIMIT events that were not acknowledged yet, oldest first. */
  events(): Promise<AcquirerNews>
  /** Takes events off the list: they have been applied, or put aside for an operator. */
  acknowledge(references: readonly string[]): Promise<void>
}
