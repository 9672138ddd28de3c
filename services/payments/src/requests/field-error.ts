import type { z } from 'zod'
import { FIELD_ERROR_CODES, type FieldError, type FieldErrorCode } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'

type Issue = z.core.$ZodIssue

/**
 * Converts zod's issues to field errors: at most one per field, in the order of `fields`, the fields of the schema. Zod itself
 * puts issues of checks over several fields last. `input` is the validated value.
 */
export function toFieldErrors(issues: readonly Issue[], input: unknown, fields: readonly string[]): FieldError[] {
  const place = ({ path: [first] }: Issue) => fields.indexOf(String(first))
  const errors = new Map<string, FieldError>()
  for (const issue of [...issues].sort((a, b) => place(a) - place(b))) {
    const field = issue.path.length === 0 ? 'body' : issue.path.join('.')
    if (!errors.has(field) && !isBeyondInteger(issue, issues)) errors.set(field, { field, ...explain(issue, input) })
  }
  return [...errors.values()]
}

/** Whether the issue is zod's bound of all integers. Zod reports it first, even if the field has a lower bound. */
function isBeyondInteger(issue: Issue, issues: readonly Issue[]): boolean {
  if (issue.code !== 'too_big' || issue.maximum !== Number.MAX_SAFE_INTEGER) return false
  const place = issue.path.join('.')
  return issues.some((other) => other !== issue && other.code === 'too_big' && other.path.join('.') === place)
}

function explain(issue: Issue, input: unknown): Omit<FieldError, 'field'> {
  if (valueAt(input, issue.path) === undefined) return { message: FIELD_TEXTS.required, code: 'REQUIRED' }
  if (issue.code === 'custom') return { message: issue.message, code: customCode(issue) }
  if (issue.code === 'invalid_type') return { message: wrongTypeText(issue), code: 'TYPE' }
  if (issue.code === 'too_small' || issue.code === 'too_big') return { message: boundText(issue), code: 'RANGE' }
  if (issue.code === 'unrecognized_keys') return { message: unknownFieldsText(issue), code: 'FORMAT' }
  return { message: FIELD_TEXTS.invalid, code: 'FORMAT' }
}

function wrongTypeText({ expected }: z.core.$ZodIssueInvalidType): string {
  if (expected === 'string') return FIELD_TEXTS.notString
  if (expected === 'int' || expected === 'number') return FIELD_TEXTS.notInteger
  if (expected === 'boolean') return FIELD_TEXTS.notBoolean
  if (expected === 'object' || expected === 'record') return FIELD_TEXTS.notObject
  return expected === 'array' ? FIELD_TEXTS.notArray : FIELD_TEXTS.notOfType(expected)
}

/** Names only keys that look like field names: a client may send anything as a name, even a card number. */
function unknownFieldsText({ keys }: z.core.$ZodIssueUnrecognizedKeys): string {
  const names = keys.filter((key) => /^[a-z][a-z_]{0,31}$/i.test(key))
  return names.length === 0 ? FIELD_TEXTS.unknownField : FIELD_TEXTS.unknownFields(names)
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

function customCode(issue: z.core.$ZodIssueCustom): FieldErrorCode {
  return FIELD_ERROR_CODES.find((code) => code === issue.params?.code) ?? 'FORMAT'
}

/** Returns the text about a bound. The bound of a string is a number of characters. */
function boundText(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const { tooShort, tooSmall, tooLong, tooBig } = FIELD_TEXTS
  const isText = issue.origin === 'string'
  return issue.code === 'too_small'
    ? (isText ? tooShort : tooSmall)({ limit: issue.minimum })
    : (isText ? tooLong : tooBig)({ limit: issue.maximum })
}
