import type { Generated } from 'kysely'

// Only functions of operators write these tables.

/** The effect of an Idempotency-Key of an operator. */
export interface OperatorChangesTable {
  actor_id: string
  key: string
  /** The digest of method, path and body. */
  fingerprint: Buffer
  /** Null until the change is made. */
  status: number | null
  /** The JSON of the answer. */
  body: string | null
  created: Date
}

/** The sum that an operator has refunded on a UTC day in a currency. */
export interface RefundQuotasTable {
  actor_id: string
  currency: string
  day: Date
  /** In minor units. */
  taken: bigint
}

/** The part of such a sum that one refund has taken. */
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

/** The one row that says whether operators have closed the registration of apps. */
export interface RegistrationTable {
  only_row: Generated<boolean>
  is_closed: Generated<boolean>
}
