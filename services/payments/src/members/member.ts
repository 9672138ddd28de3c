import { z } from 'zod'

export interface AppMember {
  readonly id: string
  readonly name: string | null
  /**
   * Last four characters of its newest good key. Null when the app has a name, an operator hid the hint, or another
   * member added the app.
   */
  readonly keyHint: string | null
  readonly created: Date
}

/** A user of a merchant, or an invited user. */
export interface UserMember {
  /** The id of the membership, if the user was invited: the user's own id is shared by all their merchants. */
  readonly id: string
  /** As the merchant typed it. */
  readonly email: string
  /** Null until the invitation is accepted. */
  readonly name: string | null
  /** Whether the invitation is still to be accepted. */
  readonly pending: boolean
  readonly created: Date
}

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
