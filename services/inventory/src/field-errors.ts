// The texts about values that a schema refuses, which complement the errors in `errors.ts`. A client gets the text after the path
// of the value: `sku: must not be empty`. To find the schema or function that refuses a value, search for the name of the text,
// such as `FIELD_TEXTS.empty`. Texts for values that the framework also refuses are in `packages/endpoints/src/error-texts.ts`,
// such as `VALUE_TEXTS.required`: missing or unknown members, numbers, words and booleans. The limits of numbers are in the
// schema of the field.

import { PROBLEM_TEXTS } from '@trestle/endpoints/error-texts.ts'

interface Limit {
  readonly max: number
}

/** The maximum number of issues in an error. */
export const ISSUES_MAX = 20

/** A text that is a function contains limits and words of the schema, never a value of the request. */
export const FIELD_TEXTS = {
  invalid: 'is not valid',
  unprefixed: ({ name }: { readonly name: string }) =>
    `is not known here; the filter of an attribute would be attributes.${name}`,
  /** A problem of the whole request. */
  jsonAsForm: 'is JSON, which needs the header Content-Type: application/json',
  givenTwice: 'must be given once',

  notString: 'must be a string',
  empty: 'must not be empty',
  notStorable: 'must not hold U+0000 or half a surrogate pair',
  nulCharacter: 'must not hold U+0000',
  notWellFormed: 'must be well-formed Unicode',
  controlCharacters: 'must not hold control characters',
  outerSpace: 'must not begin or end with white space',
  tooLong: ({ max }: Limit) => `must have at most ${max} characters`,
  notCode: 'must be 1 to 64 letters, digits, dots, underscores and hyphens',
  noLocationMember: 'must have code, name or active',
  noProductMember: 'must have sku or attributes',

  notAttributes: 'must be a text that is JSON, an object or an array',
  notJson: 'must be JSON',
  nothing: 'must not be null',
  tooManyBytes: ({ max }: Limit) => `must be at most ${max} bytes of JSON`,
  tooDeep: ({ max }: Limit) => `must be nested at most ${max} levels deep`,
  tooManyKeys: ({ max }: Limit) => `must have at most ${max} keys in all`,
  forbiddenKey: 'must not have a key "__proto__", or a key "constructor" whose value has a key "prototype"',
  holdsLongNumber: 'must not hold a number that is too long when written out',

  longNumber: 'must not be a number that is too long when written out',
  tooManyPathKeys: 'must name at most eight keys, joined with dots',
  unknownOperator: 'has an operator that is not known',
  wrongLength: ({ max }: Limit) => `must have 1 to ${max} characters`,
  wrongCount: ({ max }: Limit) => `must have 1 to ${max} values`,
  tooManyPaths: ({ max }: Limit) => `must have at most ${max} paths`,
  notPaths: 'must be keys joined with dots',
  pathsClash: 'must not name a value twice, nor a value inside another one',

  zero: 'must not be 0',
  sameLocation: 'must be another location than fromLocationId',
  notList: 'must be a list',
  wrongLines: ({ max }: Limit) => `must have 1 to ${max} lines`,
  tooManyMembers: ({ max }: Limit) => `must have at most ${max} members`,
  besideLines: 'must not stand beside lines',
  otherMovement: ({ type, members }: { readonly type: string; readonly members: string }) =>
    `is of another type of movement: ${type} takes ${members}`,
} as const

/**
 * The texts for requests that the framework cannot read, by problem. To find the line in `packages/endpoints/src` that throws a
 * problem, search for its name, such as `bodyNotJson`.
 */
export const MALFORMED_TEXTS: Readonly<Record<string, string>> = {
  [PROBLEM_TEXTS.malformedUrl]: 'The URL is malformed.',
  [PROBLEM_TEXTS.forbiddenKeyword]: 'A keyword has a forbidden name.',
  [PROBLEM_TEXTS.tooManyKeywords({ max: 1_000 })]: 'There are more than 1000 keywords.',
  [PROBLEM_TEXTS.bodyEndedEarly]: 'The body ended early.',
  [PROBLEM_TEXTS.bodyNotUtf8]: 'The body is not UTF-8.',
  [PROBLEM_TEXTS.bodyNotJson]: 'The body is no JSON.',
  [PROBLEM_TEXTS.bodyNotObject]: 'The body must be a JSON object.',
  [PROBLEM_TEXTS.bodyTooDeep({ max: 64 })]: 'The body is nested deeper than 64 levels.',
  [PROBLEM_TEXTS.forbiddenKey]: 'The body has a key with a forbidden name.',
  [PROBLEM_TEXTS.notMultipart]: 'The body is no multipart form.',
}
