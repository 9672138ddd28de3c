import type { User } from '../users/user.ts'

/** Traits of an audit event about the user whom an admin changed (reference: Users made and changed by admins). */
export function adminTraits({ id, email, phone }: Pick<User, 'id' | 'email' | 'phone'>): Record<string, string> {
  return { user_id: id, user_email: email ?? '', user_phone: phone ?? '' }
}
