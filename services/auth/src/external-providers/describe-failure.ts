import { ResponseBodyError } from 'oauth4webapi'
import { z } from 'zod'
import { exchangeFailed } from '../external-errors.ts'

/**
 * Describes a failure of a provider for the log, without its answer. Libraries attach answers to their errors, and an answer may
 * hold tokens.
 */
export function describeFailure(error: unknown): Error {
  if (error instanceof ResponseBodyError) return new Error(`the provider answered ${error.status} ${error.error}`)
  if (error instanceof z.ZodError) {
    const places = error.issues.map(({ path, code }) => `${path.join('.')} (${code})`)
    return new Error(`the provider answered something else than expected: ${places.join(', ')}`)
  }
  // The message of a parser quotes its text. The message about an invalid header quotes the token in it.
  if (error instanceof SyntaxError) return new Error('the provider answered no JSON')
  if (error instanceof TypeError) return new Error('the provider answered what cannot be sent back to it')
  return new Error(error instanceof Error ? error.message : 'the provider failed')
}

/** Fails a sign-in whose provider gives no token. @throws exchangeFailed */
export function failExchange(error: unknown): never {
  throw exchangeFailed({ cause: describeFailure(error) })
}
