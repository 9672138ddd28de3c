import { z } from 'zod'
import type { User } from './user.ts'

/** A user on the wire. */
export const UserView = z
  .object({ id: z.int().min(1), username: z.string(), firstName: z.string(), lastName: z.string() })
  .meta({ id: 'User' })

/** The JSON of a user. */
export function userJson({ id, username, firstName, lastName }: User): string {
  return JSON.stringify({ id, username, firstName, lastName })
}
