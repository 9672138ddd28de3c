import { OPERATOR_ROLES } from '@trestle/service/operators/operator-roles.ts'
import { z } from 'zod'

/** A change of an operator, as the audit log shows it (console reference: Audit of operators). */
export const AuditEntryView = z
  .object({
    id: z.int(),
    created: z.iso.datetime({ precision: 3 }).meta({ description: 'When the change was made' }),
    action: z.string().meta({ description: 'What was done, such as products.change' }),
    actor: z.object({ id: z.guid(), email: z.string() }).meta({ description: 'The operator' }),
    key: z.string().meta({ description: 'The name of the operator key' }),
    role: z.enum(OPERATOR_ROLES).meta({ description: 'The role that counted' }),
    address: z.string().meta({ description: 'The address of the operator’s browser' }),
    object: z.object({ kind: z.string(), id: z.int() }).meta({ description: 'What was changed' }),
    idempotencyKey: z.string().nullable().meta({ description: 'The Idempotency-Key of the change, where it had one' }),
    changes: z.looseObject({}).meta({ description: 'How the object was changed' }),
  })
  .meta({ id: 'AuditEntry' })

/** A row of the audit log. */
export interface AuditEntry extends Omit<z.output<typeof AuditEntryView>, 'created'> {
  readonly created: Date
}
