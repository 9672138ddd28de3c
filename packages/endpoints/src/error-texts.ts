// The error texts of the framework, as a part of the catalogue in errors.ts. They never repeat a value of the request.

/** The text of status 404. */
export const NOTHING_HERE = 'There is nothing at this URL'

interface Limit {
  readonly max: number
}

interface Bound {
  readonly limit: number | undefined
}

/**
 * The texts for problems of a single value, as in the `message` of an issue. The schemas of an application have their own texts,
 * or those of zod. The functions in binding/bind-declaration.ts and `checkNames` in binding/signature.ts throw issues as a
 * ValidationError. To find the line that uses a text, search for its name.
 */
export const VALUE_TEXTS = {
  required: 'is required',
  unknown: 'is not known here',
  misspelt: ({ meant }: { readonly meant: string }) => `is not known here; did you mean ${meant}?`,
  unexpected: 'is not expected',
  notInteger: 'must be a whole number',
  notNumber: 'must be a number',
  tooSmall: ({ limit }: Bound) => `must be at least ${limit}`,
  tooBig: ({ limit }: Bound) => `must be at most ${limit}`,
  notBoolean: 'must be true or false',
  /** The issue of a whole request that has too many wrong values for zod to list. */
  tooManyProblems: 'has too many values that are not accepted',
  tooManyItems: ({ max }: Limit) => `must have at most ${max} items`,
  notDate: 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
  notUuid: 'must be a UUID',
  notOneOf: (words: readonly string[]) => `must be one of ${words.join(', ')}`,
} as const

/**
 * The texts for problems of a whole request. They replace the text of the status. To find the line that uses a text, search for
 * its name.
 */
export const PROBLEM_TEXTS = {
  /** In development only: names a pattern that begins with this URL and has more parts. */
  nothingHere: ({ verb, pattern }: { readonly verb: string; readonly pattern: string }) =>
    `${NOTHING_HERE}; ${verb} answers ${pattern}`,
  malformedUrl: 'The URL is malformed',
  forbiddenKeyword: 'A keyword has a forbidden name',
  tooManyPositionals: ({ max }: Limit) => `There are more than ${max} positionals`,
  tooManyKeywords: ({ max }: Limit) => `There are more than ${max} keywords`,
  bodyTooLarge: ({ max }: Limit) => `The body is larger than ${max} bytes`,
  bodyEndedEarly: 'The body ended early',
  bodyNotUtf8: 'The body is not UTF-8',
  bodyNotJson: 'The body is no JSON',
  bodyNotObject: 'The body must be a JSON object',
  bodyTooDeep: ({ max }: Limit) => `The body is nested deeper than ${max} levels`,
  forbiddenKey: 'The body has a key with a forbidden name',
  notMultipart: 'The body is no multipart form',
  fileTooLarge: 'A file is too large',
  fieldTooLarge: 'A field is too large',
  tooManyParts: ({ max }: Limit) => `The form has more than ${max} parts`,
  scopeMissing: ({ scopes }: { readonly scopes: readonly string[] }) => `This needs the scope ${scopes.join(' ')}`,
  originNotAllowed: 'This origin is not allowed',
} as const
