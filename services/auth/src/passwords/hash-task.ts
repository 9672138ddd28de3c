import type { Argon2 } from './argon2.ts'
import { parsePasswordHash } from './password-form.ts'
import { verifyPassword } from './verify-password.ts'

/** One unit of password work, as it goes to a hash thread. */
export type HashTask =
  | { readonly kind: 'hash'; readonly password: string }
  | {
      readonly kind: 'compare'
      readonly password: string
      /** A form that `parsePasswordHash` reads. */
      readonly hash: string
      /** Whether it is made as this service makes its own, and costs what they do. */
      readonly isUsual: boolean
    }

/** What became of one, as it comes back. */
export type HashOutcome =
  | { readonly verdict: 'hashed'; readonly hash: string }
  | { readonly verdict: 'compared'; readonly matches: boolean }
  | { readonly verdict: 'failed'; readonly error: Error }

/** Does one task. Never throws: the others of its batch have nothing to do with it. */
export async function runHashTask(argon2: Argon2, task: HashTask): Promise<HashOutcome> {
  try {
    if (task.kind === 'hash') return { verdict: 'hashed', hash: await argon2.hash(task.password) }
    const form = parsePasswordHash(task.hash)
    if (form === undefined) throw new Error('the form of the hash is not known')
    return { verdict: 'compared', matches: await verifyPassword(argon2, form, task.password) }
  } catch (error) {
    return { verdict: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
  }
}
