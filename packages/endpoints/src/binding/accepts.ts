import type { output, ZodObject, ZodType } from 'zod'
import type { MultipartLimits } from '../body/multipart.ts'
import type { Guard } from '../guards/guard.ts'
import type { BodyUse } from './binding.ts'

/** What a handler takes and answers, beside its code. */
export interface AcceptsSpec<
  P extends readonly ZodType[] = readonly ZodType[],
  R extends ZodType | undefined = ZodType | undefined,
  K extends ZodType = ZodType,
> {
  /** A schema of each positional, optional ones last. */
  readonly path?: P
  /** What the positionals are called, in documents and issues; else the source tells, unless a minifier changed it. */
  readonly names?: readonly string[]
  /** The schema of each further positional; they are delivered as one array. */
  readonly rest?: R
  /** An object schema, or a union or intersection of some. Unknown keys are refused unless one is loose or has a catchall. */
  readonly keywords?: K
  readonly body?: BodyUse
  /** Other names of keywords, each used when the real name is absent: `{ 'user_ids[]': 'user_ids' }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The schema of what is returned. Checked in development, and part of the OpenAPI document. */
  readonly returns?: ZodType
  /** Media type of the answer. */
  readonly type?: string
  /** Further media types that the handler answers in by setting `this.response.type`, for the OpenAPI document. */
  readonly types?: readonly string[]
  /** Status of the answer where the handler sets none. */
  readonly status?: number
  /** Further statuses that the handler answers with, and what they mean, for the OpenAPI document. */
  readonly responses?: Readonly<Record<number, string>>
  readonly use?: readonly Guard[]
  /** In bytes; the application's where absent. */
  readonly bodyLimit?: number
  /** Limits of a form; the application's where absent. */
  readonly multipart?: Partial<MultipartLimits>
  /** Versions that `Accept: …;version=…` may ask for. */
  readonly version?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  /** Left out of the OpenAPI document. */
  readonly hidden?: boolean
}

/** A declaration, as the static member of a controller that bears the handler's name. */
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
 * Declares what the handler of the same name takes: `static GET = accepts({ … })`. A handler that takes different things by
 * the number of its positionals has a list: `static GET = [accepts({ … }), accepts({ path: [Id], … })]`.
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
const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const isStatus = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599

function isSchema(value: unknown): value is ZodType {
  return typeof value === 'object' && value !== null && 'safeParse' in value && typeof value.safeParse === 'function'
}

/** Schemas that no object meets, and so no keywords. */
const notOfKeywords = new Set(['string', 'number', 'boolean', 'bigint', 'date', 'array', 'tuple', 'enum', 'null'])

function isKeywords(value: unknown): boolean {
  return isSchema(value) && !notOfKeywords.has(value.def.type)
}

/** What each option must be, in the words of an error, and how that is told. */
const shapes: { readonly [K in keyof AcceptsSpec]-?: readonly [expected: string, is: (value: unknown) => boolean] } = {
  path: ['a list of schemas', (value) => Array.isArray(value) && value.every(isSchema)],
  names: ['a list of names', isTextList],
  rest: ['a schema', isSchema],
  keywords: ['an object schema: z.object({ … })', isKeywords],
  body: ['"keywords", "positionals" or "raw"', (value) => /^(?:keywords|positionals|raw)$/.test(String(value))],
  aliases: ['an object of names', (value) => isRecord(value) && Object.values(Object(value)).every(isText)],
  returns: ['a schema', isSchema],
  type: ['a media type', isText],
  types: ['a list of media types', isTextList],
  status: ['a status from 200 to 599', isStatus],
  responses: ['an object of texts by status', isRecord],
  use: ['a list of guards', (value) => Array.isArray(value) && value.every((each) => typeof each === 'function')],
  bodyLimit: ['a number of bytes', (value) => typeof value === 'number'],
  multipart: ['an object of limits', isRecord],
  version: ['a list of versions', isTextList],
  summary: ['a text', isText],
  description: ['a text', isText],
  tags: ['a list of texts', isTextList],
  deprecated: ['true or false', isFlag],
  hidden: ['true or false', isFlag],
}

/**
 * JavaScript has nobody else who looks: a misspelt option, or an object in the place of a schema, would show only when
 * requests come.
 * @throws Error that names the option
 */
export function checkSpec(spec: AcceptsSpec): void {
  if (!isRecord(spec)) throw new Error('is declared by what is no object')
  for (const [name, value] of Object.entries(spec)) {
    if (!Object.hasOwn(shapes, name)) throw new Error(`has an option that accepts does not know: ${name}`)
    const [expected, is] = shapes[name as keyof AcceptsSpec]
    if (value !== undefined && !is(value)) throw new Error(`has the option ${name}, which must be ${expected}`)
  }
}

type Outputs<P extends readonly ZodType[]> = { -readonly [I in keyof P]: output<P[I]> }

/** The parameters of a declared handler: `GET(...[id, { limit }]: Args<typeof Products.GET>)`. Of a list: one or the other. */
export type Args<A> =
  A extends Accepts<infer P, infer R, infer K>
    ? [...path: Outputs<P>, ...rest: R extends ZodType ? [output<R>[]] : [], keywords: output<K>]
    : A extends readonly (infer Each)[]
      ? Args<Each>
      : never

/** What a static member declares; nothing when it is something else. */
export function declarationsOf(member: unknown): readonly Accepts[] {
  return [member].flat().filter((each) => each instanceof Accepts)
}

/** Whether a static member stands where a declaration belongs, and is none, or not in all of its items. */
export function isNoDeclaration(member: unknown): boolean {
  return member !== undefined && declarationsOf(member).length !== [member].flat().length
}
