import type { Generated } from 'kysely'

// Only the SQL functions of operators write these tables.

/** An Idempotency-Key of an operator, and the answer to its change. */
export interface OperatorChangesTable {
  actor_id: string
  key: string
  /** The hash of the method, path and body. */
  fingerprint: Buffer
  /** `null` until the change is made. */
  status: number | null
  /** The answer as JSON text. */
  body: string | null
  created: Date
}

/** The amount that an operator has refunded on a UTC day in a currency. */
export interface RefundQuotasTable {
  actor_id: string
  currency: string
  day: Date
  /** The amount in minor units. */
  taken: bigint
}

/** The part of an operator's daily quota that one refund has taken. */
export interface RefundQuotaUsesTable {
  actor_id: string
  key: string
  currency: string
  day: Date
  amount: bigint
  /** Whether the refund was made. */
  used: Generated<boolean>
  created: Date
}

/** The single row that records whether operators have closed the registration of apps. */
export interface RegistrationTable {
  only_row: Generated<boolean>
  is_closed: Generated<boolean>
}
