import { z } from 'zod'

export interface AppMember {
  readonly id: string
  readonly name: string | null
  /**
   * The last four characters of the app's newest valid key. `null` if the app has a name, an operator hid the hint, or another
   * member added the app.
   */
  readonly keyHint: string | null
  readonly created: Date
}

/** A user of a merchant, or an invited user. */
export interface UserMember {
  /** The id of the membership if the user was invited. All merchants of a user share the id of the user. */
  readonly id: string
  /** The address as the merchant typed it. */
  readonly email: string
  /** `null` until the user accepts the invitation. */
  readonly name: string | null
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

/** Returns the JSON of an app. `keyHint` is absent if the hint is `null`. */
export function viewAppMember({ id, name, keyHint, created }: AppMember): z.infer<typeof AppMemberView> {
  return {
    id,
    ...(name === null ? {} : { name }),
    created: created.toISOString(),
    ...(keyHint === null ? {} : { keyHint }),
  }
}

/** Returns the JSON of a user. `name` is absent until the user accepts the invitation. */
export function viewUserMember({ id, email, name, pending, created }: UserMember): z.infer<typeof UserMemberView> {
  return { id, email, ...(name === null ? {} : { name }), created: created.toISOString(), pending }
}
