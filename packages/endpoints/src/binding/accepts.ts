import type { output, ZodObject, ZodType } from 'zod'
import type { MultipartLimits } from '../body/multipart.ts'
import type { Guard } from '../guards/guard.ts'
import type { BodyUse } from './keywords.ts'

/** The arguments and answers of a handler (reference: Declared handlers). */
export interface AcceptsSpec<
  P extends readonly ZodType[] = readonly ZodType[],
  R extends ZodType | undefined = ZodType | undefined,
  K extends ZodType = ZodType,
> {
  /** A schema for each positional. Optional positionals must be last. */
  readonly path?: P
  /** The names of the positionals in documents and issues. Default: the names in the source, which a minifier may change. */
  readonly names?: readonly string[]
  /** The schema of each additional positional. The handler gets them as one array. */
  readonly rest?: R
  /**
   * An object schema, or a union or intersection of object schemas. Unknown keys are refused, unless a schema is loose or has a
   * catchall.
   */
  readonly keywords?: K
  readonly body?: BodyUse
  /** Other names of keywords. An alias is used if its keyword is missing: `{ 'user_ids[]': 'user_ids' }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The schema of the returned value. The value is checked in development, and the schema is part of the OpenAPI document. */
  readonly returns?: ZodType
  /** Media type of the answer. */
  readonly type?: string
  /** Other media types that the handler sets in `this.response.type`, for the OpenAPI document. */
  readonly types?: readonly string[]
  /** The status of the answer, unless the handler sets one. */
  readonly status?: number
  /** Other statuses of the handler and their meanings, for the OpenAPI document. */
  readonly responses?: Readonly<Record<number, string>>
  readonly use?: readonly Guard[]
  /** The largest body in bytes. Default: the limit of the application. */
  readonly bodyLimit?: number
  /** The limits of a form. Default: the limits of the application. */
  readonly multipart?: Partial<MultipartLimits>
  /** Whether an empty value of a query or form counts as absent. Default: the option of the application. */
  readonly emptyAsAbsent?: boolean
  /** The versions that a client may request with `Accept: …;version=…`. */
  readonly version?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  /** Whether the OpenAPI document omits the handler. */
  readonly hidden?: boolean
}

/** A declaration of a handler. It is the static member of a controller with the name of the handler. */
export class Accepts<
  P extends readonly ZodType[] = readonly ZodType[],
  R extends ZodType | undefined = ZodType | undefined,
  K extends ZodType = ZodType,
> {
  readonly spec: AcceptsSpec<P, R, K>

  constructor(spec: AcceptsSpec<P, R, K>) {
    this.spec = spec
  }
}

/**
 * Declares the handler of the same name: `static GET = accepts({ … })`. A list declares a handler with several forms, selected by
 * the number of positionals: `static GET = [accepts({ … }), accepts({ path: [Id], … })]`.
 */
export function accepts<
  const P extends readonly ZodType[] = [],
  R extends ZodType | undefined = undefined,
  K extends ZodType = ZodObject<Record<never, never>>,
>(spec: AcceptsSpec<P, R, K>): Accepts<P, R, K> {
  return new Accepts(spec)
}

const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const isText = (value: unknown): boolean => typeof value === 'string'
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isStatus = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599

function isSchema(value: unknown): value is ZodType {
  return typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function'
}

/** The types of schemas that accept no object and so cannot describe keywords. */
const notOfKeywords = new Set(['string', 'number', 'boolean', 'bigint', 'date', 'array', 'tuple', 'enum', 'null'])

function isKeywords(value: unknown): boolean {
  return isSchema(value) && !notOfKeywords.has(value.def.type)
}

type Shape = readonly [expected: string, is: (value: unknown) => boolean]

/** For each option, the expected value as errors describe it, and the check. */
const shapes: { readonly [K in keyof AcceptsSpec]-?: Shape } = {
  path: ['a list of schemas', (value) => Array.isArray(value) && value.every(isSchema)],
  names: ['a list of names', isTextList],
  rest: ['a schema', isSchema],
  keywords: ['an object schema: z.object({ … })', isKeywords],
  body: ['"keywords", "positionals" or "raw"', (value) => /^(?:keywords|positionals|raw)$/.test(String(value))],
  aliases: ['an object of names', (value) => isRecord(value) && Object.values(value).every(isText)],
  returns: ['a schema', isSchema],
  type: ['a media type', isText],
  types: ['a list of media types', isTextList],
  status: ['a status from 200 to 599', isStatus],
  responses: ['an object of texts by status', isRecord],
  use: ['a list of guards', (value) => Array.isArray(value) && value.every((each) => typeof each === 'function')],
  bodyLimit: ['a number of bytes', (value) => typeof value === 'number'],
  multipart: ['an object of limits', isRecord],
  emptyAsAbsent: ['true or false', isFlag],
  version: ['a list of versions', isTextList],
  summary: ['a text', isText],
  description: ['a text', isText],
  tags: ['a list of texts', isTextList],
  deprecated: ['true or false', isFlag],
  hidden: ['true or false', isFlag],
}
const shapeOf: ReadonlyMap<string, Shape> = new Map(Object.entries(shapes))

/**
 * Checks the options at the start. JavaScript has no compiler to check them, so a misspelled option would otherwise show only at
 * a request.
 * @throws Error that names the option
 */
export function checkSpec(spec: AcceptsSpec): void {
  if (!isRecord(spec)) throw new Error('is declared by a value that is not an object')
  for (const [name, value] of Object.entries(spec)) {
    const shape = shapeOf.get(name)
    if (shape === undefined) throw new Error(`has an option that accepts does not know: ${name}`)
    const [expected, is] = shape
    if (value !== undefined && !is(value)) throw new Error(`has the option ${name}, which must be ${expected}`)
  }
}

type Outputs<P extends readonly ZodType[]> = { -readonly [I in keyof P]: output<P[I]> }

/** Parameters of a declared handler: `GET(...[id, { limit }]: Args<typeof Products.GET>)`. A union for a list. */
export type Args<A> =
  A extends Accepts<infer P, infer R, infer K>
    ? [...path: Outputs<P>, ...rest: R extends ZodType ? [output<R>[]] : [], keywords: output<K>]
    : A extends readonly (infer Each)[]
      ? Args<Each>
      : never

/** Returns the declarations in a static member, or an empty list for any other value. */
export function declarationsOf(member: unknown): readonly Accepts[] {
  return [member].flat().filter((each) => each instanceof Accepts)
}

/** Returns whether a static member with the name of a handler contains a value that is not a declaration. */
export function isNoDeclaration(member: unknown): boolean {
  return member !== undefined && declarationsOf(member).length !== [member].flat().length
}
