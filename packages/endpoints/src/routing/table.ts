import type { ZodType } from 'zod'
import type { AcceptsSpec } from '../binding/accepts.ts'
import type { Binding } from '../binding/binding.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import type { Controller } from '../controller.ts'
import type { CorsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { Verb } from './verbs.ts'

export type ControllerClass = (new (
  ...args: ConstructorParameters<typeof Controller>
) => Controller) &
  Pick<typeof Controller, 'private' | 'cors' | 'use'>

/** One handler: a method of a controller, and all that is known about it before a request comes. */
export interface Route {
  readonly verb: Verb | 'ANY'
  /** Of the method, suffix included: `GET_stats`. */
  readonly handler: string
  readonly method: (this: Controller, ...args: unknown[]) => unknown
  readonly controller: ControllerClass
  /** URL names of the modules on the way, `['foo', 'baz']`; empty for the root. */
  readonly modulePath: readonly string[]
  /** URL names below the module: classes, then the suffix. */
  readonly classPath: readonly string[]
  /** As exported, nested classes joined with dots: `Admin.Users`. */
  readonly className: string
  /** Where it was found: a file, or a key of the module map. */
  readonly source: string
  readonly binding: Binding
  /** Of the positionals, as far as the source tells them. */
  readonly names: readonly string[]
  /** The URL by the number of positionals, `['/foo', '/foo/{che}']`; the last also where more are taken. */
  readonly patterns: readonly string[]
  /** In the order in which they run; those of phase `bound` apart. */
  readonly guards: { readonly early: readonly Guard[]; readonly bound: readonly Guard[] }
  /** Media type of whatever is answered, as declared. */
  readonly type: string | undefined
  /** Media type of strings and bytes, by the extension in the class's name. */
  readonly extensionType: string | undefined
  /** Status of what is returned, where the handler sets none. */
  readonly status: number | undefined
  readonly versions: readonly string[] | undefined
  readonly returns: ZodType | undefined
  readonly bodyLimit: number
  readonly multipart: MultipartLimits
  /** What was declared with `accepts`. */
  readonly spec: AcceptsSpec | undefined
}

/** The routes of each verb: several where the handler takes different things by the number of positionals. */
export type EndpointRoutes = ReadonlyMap<Verb | 'ANY', readonly Route[]>

/** Where a path can end: a class, or a suffix of its methods. */
export interface Endpoint {
  /** URL names of the modules, then of the classes and the suffix. */
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly routes: EndpointRoutes
  /** Undefined for a class that is no controller and only holds others. */
  readonly controller: ControllerClass | undefined
  readonly cors: CorsPolicy | undefined
}

export interface ClassNode extends Endpoint {
  readonly classes: ReadonlyMap<string, ClassNode>
  readonly suffixes: ReadonlyMap<string, Endpoint>
}

export interface ModuleNode {
  readonly modules: ReadonlyMap<string, ModuleNode>
  readonly classes: ReadonlyMap<string, ClassNode>
  /** The class `Default`. */
  readonly fallback: ClassNode | undefined
}

/** Every URL of an application. It never changes: a reload makes a new one. */
export interface RouteTable {
  readonly root: ModuleNode
  /** All of them, in the order of their URLs. */
  readonly endpoints: readonly Endpoint[]
  readonly warnings: readonly string[]
}
