import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'

/** A change that an operator asks for: who asks, and by which key. */
export interface OperatorChange {
  readonly operator: Operator
  /** The Idempotency-Key; undefined for a change that `If-Match` guards. */
  readonly key: string | undefined
}

/** The result of a change of an operator, for its answer and for the audit log. */
export interface OperatorEffect<Made> {
  readonly made: Made
  /** Undefined: nothing was changed, so the audit log has no row of it. */
  readonly audited: AuditedChange | undefined
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
