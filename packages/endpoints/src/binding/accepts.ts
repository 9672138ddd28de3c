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
  /** A schema for each positional, optional ones last. */
  readonly path?: P
  /** Names of the positionals in documents and issues. Default: the names in the source, which a minifier may change. */
  readonly names?: readonly string[]
  /** The schema of each further positional. They are passed as one array. */
  readonly rest?: R
  /**
   * An object schema, or a union or intersection of object schemas. Unknown keys are refused, unless a schema
   * is loose or has a catchall.
   */
  readonly keywords?: K
  readonly body?: BodyUse
  /** Other names of keywords, each used when the real name is missing: `{ 'user_ids[]': 'user_ids' }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The schema of the returned value. It is checked in development, and documented. */
  readonly returns?: ZodType
  /** Media type of the answer. */
  readonly type?: string
  /** Further media types that the handler sets in `this.response.type`, for the OpenAPI document. */
  readonly types?: readonly string[]
  /** Status of the answer, unless the handler sets one. */
  readonly status?: number
  /** Further statuses of the handler and their meaning, for the OpenAPI document. */
  readonly responses?: Readonly<Record<number, string>>
  readonly use?: readonly Guard[]
  /** In bytes. Default: the limit of the application. */
  readonly bodyLimit?: number
  /** Limits of a form. Default: the limits of the application. */
  readonly multipart?: Partial<MultipartLimits>
  /** Whether an empty value of a query or form counts as absent. Default: as in the application. */
  readonly emptyAsAbsent?: boolean
  /** Versions that `Accept: …;version=…` may ask for. */
  readonly version?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  /** Left out of the OpenAPI document. */
  readonly hidden?: boolean
}

/** A declaration. It is the static member of a controller with the name of the handler. */
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
 * Declares the handler of the same name: `static GET = accepts({ … })`. A list declares a handler that takes different arguments
 * by the number of its positionals: `static GET = [accepts({ … }), accepts({ path: [Id], … })]`.
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

/** Types of schemas that accept no object. They cannot describe keywords. */
const notOfKeywords = new Set(['string', 'number', 'boolean', 'bigint', 'date', 'array', 'tuple', 'enum', 'null'])

function isKeywords(value: unknown): boolean {
  return isSchema(value) && !notOfKeywords.has(value.def.type)
}

type Shape = readonly [expected: string, is: (value: unknown) => boolean]

/** For each option the expectation, as an error names it, and the check. */
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
 * Checks the options at the start. In JavaScript, where no compiler checks them, a misspelt option would otherwise show only when
 * a request comes.
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

/** The parameters of a declared handler: `GET(...[id, { limit }]: Args<typeof Products.GET>)`. For a list, a union. */
export type Args<A> =
  A extends Accepts<infer P, infer R, infer K>
    ? [...path: Outputs<P>, ...rest: R extends ZodType ? [output<R>[]] : [], keywords: output<K>]
    : A extends readonly (infer Each)[]
      ? Args<Each>
      : never

/** The declarations in a static member; none in any other value. */
export function declarationsOf(member: unknown): readonly Accepts[] {
  return [member].flat().filter((each) => each instanceof Accepts)
}

/** Whether a static member with the name of a handler holds anything but declarations. */
export function isNoDeclaration(member: unknown): boolean {
  return member !== undefined && declarationsOf(member).length !== [member].flat().length
}
