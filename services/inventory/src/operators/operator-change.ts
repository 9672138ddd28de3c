import type { OperatorAction } from '@trestle/service/operators/operator-roles.ts'

/** What the audit log says of a change, beside who made it (console reference: Audit of operators). */
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
