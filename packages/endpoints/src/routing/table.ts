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

/** A handler with everything that is known before a request. */
export interface Route {
  readonly verb: Verb | 'ANY'
  /** The name of the method with its suffix, such as `GET_stats`. */
  readonly handler: string
  readonly method: (this: Controller, ...args: unknown[]) => unknown
  readonly controller: ControllerClass
  /** The URL names of the modules on the path, such as `['foo', 'baz']`. The list is empty for the root. */
  readonly modulePath: readonly string[]
  /** URL names below the module: classes, then the suffix. */
  readonly classPath: readonly string[]
  /** The exported name, with nested classes joined by dots: `Admin.Users`. */
  readonly className: string
  /** The file or the key in the module map. */
  readonly source: string
  readonly binding: Binding
  readonly names: readonly string[]
  /** The URL for each number of positionals, such as `['/foo', '/foo/{che}']`. The last URL also applies to higher numbers. */
  readonly patterns: readonly string[]
  /** The guards of each phase, in the order in which they run. */
  readonly guards: { readonly early: readonly Guard[]; readonly bound: readonly Guard[] }
  /** The declared media type of every answer. */
  readonly type: string | undefined
  /** The media type of strings and bytes, from the file extension of the class. */
  readonly extensionType: string | undefined
  /** The status of the answer if the handler sets none. */
  readonly status: number | undefined
  readonly versions: readonly string[] | undefined
  readonly returns: ZodType | undefined
  /** The maximum size of a body, in bytes. */
  readonly bodyBytesMax: number
  readonly multipart: MultipartLimits
  /** Returns whether an empty value of this name counts as absent. Unknown names are refused even if empty. */
  readonly absentIfEmpty: (name: string) => boolean
  /** The options of `accepts`. */
  readonly spec: AcceptsSpec | undefined
}

/** The routes of each verb. If a verb has several routes, the number of positionals decides which route answers. */
export type EndpointRoutes = ReadonlyMap<Verb | 'ANY', readonly Route[]>

export interface Endpoint {
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly routes: EndpointRoutes
  /** `undefined` for a class that only contains controllers. */
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

/** All URLs of an application. A table never changes. A reload creates a new table. */
export interface RouteTable {
  readonly root: ModuleNode
  /** All endpoints, in the order of their URLs. */
  readonly endpoints: readonly Endpoint[]
  readonly warnings: readonly string[]
}
