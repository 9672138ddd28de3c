import { z } from 'zod'
import type { AppMember, UserMember } from './member.ts'

/** An app of a merchant, without its key (reference: Key hints). */
export const AppMemberView = z.object({
  id: z.string(),
  name: z.string().optional(),
  created: z.iso.datetime(),
  keyHint: z.string().optional(),
})

/** A user of a merchant (reference: Users of a merchant). */
export const UserMemberView = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string().optional(),
  created: z.iso.datetime(),
  pending: z.boolean(),
})

/** Makes the JSON of an app. */
export function viewAppMember({ id, name, keyHint, created }: AppMember): z.infer<typeof AppMemberView> {
  return {
    id,
    ...(name === null ? {} : { name }),
    created: created.toISOString(),
    ...(keyHint === null ? {} : { keyHint }),
  }
}

/** Makes the JSON of a user. */
export function viewUserMember({ id, email, name, pending, created }: UserMember): z.infer<typeof UserMemberView> {
  return { id, email, ...(name === null ? {} : { name }), created: created.toISOString(), pending }
}
