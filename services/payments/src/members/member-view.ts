import { z } from 'zod'
import type { AppMember, UserMember } from './member.ts'

/** An app of a merchant, without its key (reference: Key hints). */
export const AppMemberView = z
  .object({
    id: z.string(),
    name: z.string().optional(),
    created: z.iso.datetime(),
    keyHint: z.string().optional(),
  })
  .meta({ id: 'App' })

/** A user of a merchant (reference: Users of a merchant). */
export const UserMemberView = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string().optional(),
    created: z.iso.datetime(),
    pending: z.boolean(),
  })
  .meta({ id: 'MerchantUser' })

/** The JSON of an app. `keyHint` is left out where the caller may not see it. */
export function viewAppMember({ id, name, keyHint, created }: AppMember): z.infer<typeof AppMemberView> {
  return {
    id,
    ...(name === null ? {} : { name }),
    created: created.toISOString(),
    ...(keyHint === null ? {} : { keyHint }),
  }
}

/** The JSON of a user, whose name is hidden until the invitation is accepted. */
export function viewUserMember({ id, email, name, pending, created }: UserMember): z.infer<typeof UserMemberView> {
  return { id, email, ...(name === null ? {} : { name }), created: created.toISOString(), pending }
}
