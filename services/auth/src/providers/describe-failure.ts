import { ResponseBodyError } from 'oauth4webapi'
import { z } from 'zod'

/**
 * What went wrong with a provider, for the log: not the answer itself, which libraries hang on to their errors and which
 * may hold tokens.
 */
export function describeFailure(error: unknown): Error {
  if (error instanceof ResponseBodyError) return new Error(`the provider answered ${error.status} ${error.error}`)
  if (error instanceof z.ZodError) {
    const places = error.issues.map(({ path, code }) => `${path.join('.')} (${code})`)
    return new Error(`the provider answered something else than expected: ${places.join(', ')}`)
  }
  // What a parser says quotes the text; what refuses a header quotes the token that was to stand in it.
  if (error instanceof SyntaxError) return new Error('the provider answered no JSON')
  if (error instanceof TypeError) return new Error('the provider answered what cannot be sent back to it')
  return new Error(error instanceof Error ? error.message : 'the provider failed')
}
