import type { output, ZodObject, ZodType } from 'zod'
import type { Guard } from '../guards/guard.ts'

/** Where the body of a request goes: among the keywords, behind the positionals, or nowhere but `this.request`. */
export type BodyUse = 'keywords' | 'positionals' | 'raw'

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
  /** An object schema. Unknown keys are refused unless it is loose or has a catchall. */
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
