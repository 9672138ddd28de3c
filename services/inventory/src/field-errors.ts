// What may be wrong with one value of a request, a part of the catalogue in errors.ts. The `description` of a `VALIDATION_ERROR`
// is `<path>: <message>`, such as `limit: must be at most 500`.
//
// From the path to its rule: a search for `limit:` below src finds the schema of the request that declares the field, in its
// controller or in the noun that the controller imports. What a rule refuses that is no schema has its path in errors.ts: a search
// for `path: 'limit'` there finds the error, and a search for its name finds the rule.
//
// From the message to its rule: the words without numbers and names, `must be at most`, stand here, in errors.ts, or in
// packages/endpoints/src/error-texts.ts, which has the texts of numbers, words and lists. A search for the name of a text finds the
// schema or rule that chooses it.
//
// What a schema refuses, the framework throws in `valuesOf` of packages/endpoints/src/binding/bind-declaration.ts, and
// `fromCallError` in error-body.ts puts it into the words of this service. Filters are refused by `readSelection` in
// products/product-query.ts, attributes by `storableAttributes` in products/attributes.ts, and `flatten` in
// controllers/products/export.ts.

import { PROBLEM_TEXTS } from '@trestle/endpoints/error-texts.ts'

interface Limit {
  readonly max: number
}

/** The most issues that an error names. */
export const ISSUES_MAX = 20

/** The texts of issues. A function names limits and words of the schema, never a value of the request. */
export const FIELD_TEXTS = {
  invalid: 'is not valid',
  required: 'is required',
  unknown: 'is not known here',
  misspelt: ({ meant }: { readonly meant: string }) => `is not known here; did you mean ${meant}?`,
  unprefixed: ({ name }: { readonly name: string }) =>
    `is not known here; the filter of an attribute would be attributes.${name}`,
  /** What is wrong with the request as a whole. */
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
  protoKey: 'must not have a key "__proto__"',
  holdsLongNumber: 'must not hold a number that is too long when written out',

  longNumber: 'must not be a number that is too long when written out',
  tooManyPathKeys: 'must name at most eight keys, joined with dots',
  unknownOperator: 'has an operator that is not known',
  wrongLength: ({ max }: Limit) => `must have 1 to ${max} characters`,
  wrongCount: ({ max }: Limit) => `must have 1 to ${max} values`,
  notBoolean: 'must be true or false',
  tooManyPaths: ({ max }: Limit) => `must have at most ${max} paths`,
  notPaths: 'must be keys joined with dots',
  pathsClash: 'must not name a value twice, nor a value inside another one',

  zero: 'must not be 0',
  sameLocation: 'must be another location than fromLocationId',
  notOneOf: (words: readonly string[]) => `must be one of ${words.join(', ')}`,
  notList: 'must be a list',
  wrongLines: ({ max }: Limit) => `must have 1 to ${max} lines`,
  tooManyMembers: ({ max }: Limit) => `must have at most ${max} members`,
  besideLines: 'must not stand beside lines',
  otherMovement: ({ type, members }: { readonly type: string; readonly members: string }) =>
    `is of another type of movement: ${type} takes ${members}`,
} as const

/**
 * What the framework could not read of a request, by the text of its problem. A search for the name of a problem, such as
 * `bodyNotJson`, finds the line in packages/endpoints/src that throws it.
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

/** The texts of records of an import, in its report. Nothing throws them: the file that names one puts it into the report. */
export const RECORD_TEXTS = {
  /** A member of a record, and what is wrong with it. */
  member: (path: string, text: string) => `${path}: ${text}`,
  noJson: 'The line is no JSON.',
  noObject: 'The line must be a JSON object.',
  quotes: 'The record has quotes that are not in order.',
  wrongFields: ({ fields, columns }: { readonly fields: number; readonly columns: number }) =>
    `The record has ${fields} fields, the header has ${columns}.`,
  leadsThroughScalar: 'leads through a value that is no object',
  notStored: 'The product could not be stored.',
} as const

/** The texts of imports of operators that have failed. Nothing throws them: an import shows why it has failed. */
export const IMPORT_TEXTS = {
  givenUp: 'The import could not be finished. The report counts what was stored.',
} as const
