import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'

/** A change that an operator asks for: who asks, and by which key. */
export interface OperatorChange {
  readonly operator: Operator
  /** The Idempotency-Key; undefined for a change that `If-Match` guards. */
  readonly key: string | undefined
}

/** The part of the input of a change that the audit log needs. */
export interface Audited {
  /** Undefined for a change that no operator asks for. */
  readonly operatorChange?: OperatorChange | undefined
}

/** The entry of a change in the audit log, without the operator who made it (console reference: Audit of operators). */
export interface AuditedChange {
  readonly action: OperatorAction
  readonly object: {
    readonly kind: 'product' | 'location' | 'movement' | 'reservation' | 'import'
    readonly id: number
  }
  /** The products whose history shows the change. */
  readonly productIds: readonly number[]
  /** How the object was changed. Never a secret. */
  readonly changes: object
}
