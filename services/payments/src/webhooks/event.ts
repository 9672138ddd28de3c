/** The types of events (reference: Events). */
export const EVENT_TYPES = [
  'transaction.created',
  'transaction.failed',
  'transaction.captured',
  'transaction.refunded',
  'transaction.voided',
  'transaction.rejected',
  'dispute.opened',
  'dispute.won',
  'dispute.lost',
  'fraud.created',
  'payout.created',
  'payout.settled',
  'payout.failed',
  'merchant.updated',
  'app.added',
  'app.revoked',
  'user.invited',
  'user.revoked',
  'webhook.disabled',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

export function isEventType(text: string): text is EventType {
  return EVENT_TYPES.some((type) => type === text)
}

/** A record of a change to a merchant or to one of its objects. */
export interface MerchantEvent {
  readonly id: string
  readonly merchantId: string
  readonly type: EventType
  /** The version of the format of `data`. */
  readonly version: number
  readonly created: Date
  /** The object as it was at the event, under its noun, such as `{ app: {…} }`. */
  readonly data: Readonly<Record<string, object>>
}

/** An event without the changed object. */
export type EventSummary = Pick<MerchantEvent, 'id' | 'type' | 'created'>
