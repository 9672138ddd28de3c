import type { User } from '../users/user.ts'

/** What the audit trail says of the user to whom an admin did something (contract 4.8). */
export function adminTraits({ id, email, phone }: Pick<User, 'id' | 'email' | 'phone'>): Record<string, string> {
  return { user_id: id, user_email: email ?? '', user_phone: phone ?? '' }
}
