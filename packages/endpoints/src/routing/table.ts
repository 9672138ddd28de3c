import type { ZodType } from 'zod'
import type { AcceptsSpec } from '../binding/accepts.ts'
import type { Binding } from '../binding/keywords.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import type { Controller } from '../controller.ts'
import type { CorsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { Verb } from './verbs.ts'

/** A class that derives from `Controller`, with the static members that the framework reads. */
export type ControllerClass = (new (
  ...args: ConstructorParameters<typeof Controller>
) => Controller) &
  Pick<typeof Controller, 'private' | 'cors' | 'use'>

/** A handler, with everything that is known about it before a request comes. */
export interface Route {
  readonly verb: Verb | 'ANY'
  /** Name of the method, with its suffix: `GET_stats`. */
  readonly handler: string
  readonly method: (this: Controller, ...args: unknown[]) => unknown
  readonly controller: ControllerClass
  /** URL names of the modules on the way: `['foo', 'baz']`; empty for the root. */
  readonly modulePath: readonly string[]
  /** URL names below the module: classes, then the suffix. */
  readonly classPath: readonly string[]
  /** The exported name, with nested classes joined by dots: `Admin.Users`. */
  readonly className: string
  /** The file, or the key of the module map. */
  readonly source: string
  readonly binding: Binding
  readonly names: readonly string[]
  /** The URL for each number of positionals: `['/foo', '/foo/{che}']`. The last one also holds for more. */
  readonly patterns: readonly string[]
  /** In the order in which they run, by phase. */
  readonly guards: { readonly early: readonly Guard[]; readonly bound: readonly Guard[] }
  /** The declared media type of every answer. */
  readonly type: string | undefined
  /** Media type of strings and bytes, by the extension of the class. */
  readonly extensionType: string | undefined
  /** Status of the answer, unless the handler sets one. */
  readonly status: number | undefined
  readonly versions: readonly string[] | undefined
  readonly returns: ZodType | undefined
  /** Most bytes of a body. */
  readonly bodyBytesMax: number
  readonly multipart: MultipartLimits
  /** Whether an empty value of a query or form counts as absent, by its name. An unknown name is refused as with any value. */
  readonly absentIfEmpty: (name: string) => boolean
  /** The options of `accepts`. */
  readonly spec: AcceptsSpec | undefined
}

/** The routes of each verb. A verb has several when the number of positionals decides. */
export type EndpointRoutes = ReadonlyMap<Verb | 'ANY', readonly Route[]>

export interface Endpoint {
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly routes: EndpointRoutes
  /** Undefined for a class that only holds controllers. */
  readonly controller: ControllerClass | undefined
  readonly cors: CorsPolicy | undefined
}

/** A class in the table, with the classes and suffixes that continue its URL. */
export interface ClassNode extends Endpoint {
  readonly classes: ReadonlyMap<string, ClassNode>
  readonly suffixes: ReadonlyMap<string, Endpoint>
}

/** A module or folder in the table, with the modules and classes that continue its URL. */
export interface ModuleNode {
  readonly modules: ReadonlyMap<string, ModuleNode>
  readonly classes: ReadonlyMap<string, ClassNode>
  /** The class `Default`. */
  readonly fallback: ClassNode | undefined
}

/** Every URL of an application. It never changes. A reload makes a new table. */
export interface RouteTable {
  readonly root: ModuleNode
  /** In the order of their URLs. */
  readonly endpoints: readonly Endpoint[]
  readonly warnings: readonly string[]
}
