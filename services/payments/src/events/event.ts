import type { EventType } from './event-type.ts'

/** What happened at a merchant. */
export interface MerchantEvent {
  readonly id: string
  readonly merchantId: string
  readonly type: EventType
  /** Of the layout of `data`. */
  readonly version: number
  readonly created: Date
  /** The object as it was then, under its noun: `{ app: {…} }`. */
  readonly data: Readonly<Record<string, object>>
}
