import type { Operator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { Repeat } from '../access/caller.ts'

export interface OperatorChange {
  readonly operator: Operator
  readonly action: OperatorAction
  readonly repeat: Repeat
  /** The status of the answer, below 300, as the route documents it. */
  readonly status: number
}

/** The answer to a change of an operator, and its entry in the audit log. */
export interface OperatorEffect {
  readonly answer: object
  /** The object that was changed, for the audit log. */
  readonly object: { readonly kind: string; readonly id: string }
  /** Absent for an object that belongs to no merchant. */
  readonly merchantId?: string
  /** The changed values, for the audit log. Never a secret. */
  readonly changes: object
}

/** The answer to a change, now or when it was first made. */
export interface OperatorAnswer {
  readonly status: number
  /** The body as JSON text. */
  readonly body: string
  readonly replayed: boolean
}
