import { type AcceptsSpec, checkSpec, declarationsOf, isNoDeclaration } from '../binding/accepts.ts'
import { bindDeclaration } from '../binding/bind-declaration.ts'
import { bindSignature, parameterNames, reflectSignature } from '../binding/signature.ts'
import { typeOfFileName } from '../body/media-type.ts'
import { checkLimit, multipartLimits, type Settings } from '../config/settings.ts'
import { Controller } from '../controller.ts'
import { corsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import { basePath, buildPatterns } from '../routing/pattern.ts'
import type {
  ClassNode,
  ControllerClass,
  Endpoint,
  EndpointRoutes,
  ModuleNode,
  Route,
  RouteTable,
} from '../routing/table.ts'
import { placeOfMethod } from './fault-place.ts'
import {
  type HandlerMethod,
  handlersOf,
  isController,
  isPrivate,
  lineage,
  nestedControllers,
  ownGuards,
  reservedHandlers,
  strayHandlers,
} from './read-controller.ts'
import { classUrlName } from './url-name.ts'

/** An imported module of controllers. Its classes have not been read yet. */
export interface LoadedModule {
  /** The URL names from the root. The list is empty for the root itself. */
  readonly path: readonly string[]
  /** The file or the key in the module map, for messages. */
  readonly source: string
  readonly exports: Readonly<Record<string, unknown>>
}

/**
 * Builds the table of all modules. Modules of earlier prefixes have priority.
 * @throws Error that names the module if two of its exports have the same URL, or if a handler cannot be called from a URL
 */
export function buildTable(modules: readonly LoadedModule[], settings: Settings): RouteTable {
  const root = createModule()
  const warnings: string[] = []
  for (const module of modules) addModule(root, module, { settings, warnings })
  warnings.push(...dropUnreachable(root))
  const endpoints = endpointsOf(root)
  // This also happens if a program has two copies of the package, because each copy has its own `Controller` class.
  if (endpoints.length === 0)
    warnings.push('no module exports a class that derives from the Controller of this package')
  if (settings.strict && warnings.length > 0) throw new Error(warnings.join('\n'))
  return { root, endpoints, warnings }
}

interface Building {
  readonly settings: Settings
  readonly warnings: string[]
}

interface BuildingPlace extends Omit<ClassPlace, 'controller' | 'guards'> {
  /** The classes that contain this class, with their base classes. Their guards run before the guards of this class. */
  readonly outer: ReadonlySet<object>
}

function addModule(root: GrowingModule, module: LoadedModule, building: Building): void {
  let node = root
  for (const name of module.path) {
    const next = node.modules.get(name) ?? createModule()
    node.modules.set(name, next)
    node = next
  }
  if ('default' in module.exports && 'Default' in module.exports) {
    throw new Error(`${module.source}: exports both default and Default`)
  }
  for (const [exportName, value] of Object.entries(module.exports)) {
    const name = exportName === 'default' ? 'Default' : exportName
    if (typeof value !== 'function' || value === Controller || isPrivate(name, value)) continue
    const place = { className: name, source: module.source, modulePath: module.path, outer: new Set<object>() }
    const [stray] = strayHandlers(value)
    if (stray !== undefined) {
      building.warnings.push(
        `${module.source}: ${name} has ${stray}, but does not derive from Controller; nothing answers`,
      )
    }
    if (name === 'Default' && (isController(value) || nestedControllers(value).length > 0)) {
      const fallback = buildClass(value, { ...place, classPath: [], extension: undefined }, building)
      if (node.fallback === undefined) node.fallback = fallback
      else refuseTwin(node.fallback, fallback, building)
    } else {
      addClass(node.classes, value, { ...place, classPath: [] }, building)
    }
  }
}

/** Adds a class under its URL name if the class is a controller or contains controllers. */
function addClass(
  classes: Map<string, GrowingClass>,
  value: object,
  place: Omit<BuildingPlace, 'extension'>,
  building: Building,
): void {
  if (!isController(value) && nestedControllers(value).length === 0) return
  const { name, extension } = parseClassName(place)
  const node = buildClass(value, { ...place, classPath: [...place.classPath, name], extension }, building)
  const twin = classes.get(name)
  if (twin === undefined) classes.set(name, node)
  else refuseTwin(twin, node, building)
}

function parseClassName({ source, className }: Pick<ClassPlace, 'source' | 'className'>) {
  try {
    return classUrlName(className.slice(className.lastIndexOf('.') + 1))
  } catch (error) {
    throw new Error(`${source}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/** Two classes of a module with the same URL are an error. If two prefixes have such classes, the earlier one answers. */
function refuseTwin(first: GrowingClass, second: GrowingClass, { warnings }: Building): void {
  const both = `${first.className} of ${first.source} and ${second.className} of ${second.source}`
  if (first.source === second.source) throw new Error(`${both} have one URL name`)
  warnings.push(`${both} have one URL; the first answers`)
}

function buildClass(value: object, place: BuildingPlace, building: Building): GrowingClass {
  const { className, source, modulePath, classPath } = place
  const outer = new Set([...place.outer, ...lineage(value)])
  const guards = guardsOf(outer, place)
  const classes = new Map<string, GrowingClass>()
  for (const [name, nested] of nestedControllers(value)) {
    if (isPrivate(name, nested)) continue
    addClass(classes, nested, { ...place, className: `${className}.${name}`, outer }, building)
  }
  const suffixes = new Map<string, Endpoint>()
  const own = { className, source, modulePath, classPath, classes, suffixes }
  if (!isController(value)) return { ...own, routes: new Map(), controller: undefined, cors: building.settings.cors }
  const shared = { controller: value, cors: corsOf(value, building.settings) }
  const routes = buildRoutes({ ...place, controller: value, guards }, building)
  for (const [suffix, ofSuffix] of routes) {
    if (suffix === undefined) continue
    suffixes.set(suffix, { ...shared, modulePath, classPath: [...classPath, suffix], routes: ofSuffix })
  }
  return { ...own, ...shared, routes: routes.get(undefined) ?? new Map() }
}

function guardsOf(classes: ReadonlySet<object>, { source, className }: BuildingPlace): readonly Guard[] {
  try {
    return [...classes].flatMap(ownGuards)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${placeOfMethod(source, className, 'use')}: ${className} ${reason}`, { cause: error })
  }
}

function corsOf(controller: ControllerClass, settings: Settings) {
  return controller.cors === undefined ? settings.cors : corsPolicy(controller.cors)
}

/** Returns the routes of a class, by suffix and verb. */
function buildRoutes(place: ClassPlace, { settings, warnings }: Building): Map<string | undefined, EndpointRoutes> {
  const { controller, source, className } = place
  const handlers = handlersOf(controller)
  checkDeclarations(place, new Set(handlers.map(({ name }) => name)))
  if (handlers.length === 0) warnings.push(`${source}: ${className} has no handler, so its URL answers 404`)
  for (const name of reservedHandlers(controller)) warnings.push(`${source}: ${className}.${name} is never called`)
  const routes = new Map<string | undefined, EndpointRoutes>()
  for (const handler of handlers) {
    const ofSuffix: EndpointRoutes = routes.get(handler.suffix) ?? new Map()
    const [twin] = ofSuffix.get(handler.verb) ?? []
    if (twin !== undefined) {
      const at = placeOfMethod(source, className, handler.name)
      throw new Error(`${at}: ${className}.${twin.handler} and ${handler.name} have one URL`)
    }
    const built = buildRoutesOf(place, handler, settings)
    warnings.push(...built.flatMap(bodyAsPart))
    routes.set(handler.suffix, new Map([...ofSuffix, [handler.verb, built]]))
  }
  return routes
}

/** Warns about a handler such as `POST(body)`. Other frameworks pass the body here, but this one a part of the path. */
function bodyAsPart({ spec, verb, binding, names, source, className, handler }: Route): readonly string[] {
  const name = names[binding.min - 1] ?? ''
  if (spec !== undefined || !/^(?:POST|PUT|PATCH)$/.test(verb) || !/^_?(?:body|data|dto|payload)$/i.test(name))
    return []
  return [
    `${source}: ${className}.${handler}(${name}) takes a part of the path; the body is ${handler}({ ...${name} })`,
  ]
}

function checkDeclarations({ controller, source, className }: ClassPlace, handlers: ReadonlySet<string>): void {
  for (const [name, { value }] of lineage(controller).flatMap((each) =>
    Object.entries(Object.getOwnPropertyDescriptors(each)),
  )) {
    if (declarationsOf(value).length > 0 && !handlers.has(name)) {
      const at = placeOfMethod(source, className, name)
      throw new Error(`${at}: ${className} declares ${name} with accepts, but has no such handler`)
    }
  }
}

/** The position of a class in the URL tree. */
interface ClassPlace {
  readonly controller: ControllerClass
  readonly className: string
  readonly source: string
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly extension: string | undefined
  /** The guards of the classes that contain this class, of its base classes, and of the class itself. */
  readonly guards: readonly Guard[]
}

/**
 * Creates a route for each declaration of a handler, with everything that is known before a request.
 * @throws Error that names the handler
 */
function buildRoutesOf(place: ClassPlace, handler: HandlerMethod, settings: Settings): readonly Route[] {
  const member: unknown = Reflect.get(place.controller, handler.name)
  const declarations = declarationsOf(member)
  const specs = declarations.length === 0 ? [undefined] : declarations.map(({ spec }) => spec)
  try {
    if (isNoDeclaration(member)) throw new Error('has a static member of its name that accepts() did not make')
    const routes = specs.map((spec) => buildRoute(place, handler, spec, settings))
    if (routes.some((route, i) => routes.slice(i + 1).some((other) => overlap(route, other)))) {
      throw new Error('has two declarations for one number of positionals')
    }
    return routes
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const at = placeOfMethod(place.source, place.className, handler.name)
    throw new Error(`${at}: ${place.className}.${handler.name} ${reason}`, { cause: error })
  }
}

function overlap({ binding: one }: Route, { binding: other }: Route): boolean {
  return one.min <= other.max && other.min <= one.max
}

function buildRoute(
  place: ClassPlace,
  handler: HandlerMethod,
  spec: AcceptsSpec | undefined,
  settings: Settings,
): Route {
  const { controller, className, source, modulePath, extension } = place
  const { name, verb, suffix, method } = handler
  if (spec !== undefined) checkSpec(spec)
  const use = [...settings.use, ...place.guards, ...(spec?.use ?? [])]
  const classPath = suffix === undefined ? place.classPath : [...place.classPath, suffix]
  const bound = bindingOf(handler, spec, settings)
  return {
    verb,
    handler: name,
    method,
    controller,
    modulePath,
    classPath,
    className,
    source,
    ...bound,
    patterns: buildPatterns({ modulePath, classPath, ...bound }),
    guards: {
      early: use.filter(({ phase }) => phase !== 'bound'),
      bound: use.filter(({ phase }) => phase === 'bound'),
    },
    type: spec?.type,
    extensionType: extension === undefined ? undefined : typeOfFileName(extension),
    status: spec?.status,
    versions: spec?.version,
    returns: spec?.returns,
    bodyBytesMax: checkLimit('bodyLimit', spec?.bodyLimit ?? settings.bodyBytesMax),
    multipart: multipartLimits(spec?.multipart, settings.multipart),
    absentIfEmpty: (spec?.emptyAsAbsent ?? settings.emptyAsAbsent) ? bound.binding.knows : () => false,
    spec,
  }
}

function bindingOf(
  { method }: HandlerMethod,
  spec: Route['spec'],
  { signatures }: Settings,
): Pick<Route, 'binding' | 'names'> {
  if (spec !== undefined) return { binding: bindDeclaration(spec), names: spec.names ?? parameterNames(method) }
  if (!signatures) throw new Error('is not declared with accepts')
  try {
    const signature = reflectSignature(method)
    return { binding: bindSignature(signature), names: signature.names }
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}; declare it with accepts`, {
      cause: error,
    })
  }
}

/** The table before the controllers are loaded. */
export const emptyTable: RouteTable = { root: createModule(), endpoints: [], warnings: [] }

/** A module of the table during its construction. */
interface GrowingModule extends ModuleNode {
  readonly modules: Map<string, GrowingModule>
  readonly classes: Map<string, GrowingClass>
  fallback: GrowingClass | undefined
}

/** A class of the table during its construction, with the names that messages about the class contain. */
interface GrowingClass extends ClassNode {
  readonly source: string
  readonly className: string
  readonly classes: Map<string, GrowingClass>
  readonly suffixes: Map<string, Endpoint>
}

function createModule(): GrowingModule {
  return { modules: new Map(), classes: new Map(), fallback: undefined }
}

/** Removes classes and suffixes whose URL something else answers (reference: Name clashes). Returns a warning for each. */
function dropUnreachable(module: GrowingModule, path = ''): readonly string[] {
  const warnings: string[] = []
  const drop = (children: Map<string, unknown>, hidden: (name: string) => string | undefined, what: string): void => {
    for (const name of children.keys()) {
      const by = hidden(name)
      if (by === undefined) continue
      children.delete(name)
      warnings.push(`${path}/${name}: the ${by} hides the ${what}`)
    }
  }
  const { modules, classes, fallback } = module
  const inModule = (name: string): string | undefined => (modules.has(name) ? 'module' : undefined)
  const inClasses = (name: string): string | undefined => inModule(name) ?? (classes.has(name) ? 'class' : undefined)
  drop(classes, inModule, 'class')
  if (fallback !== undefined) {
    drop(fallback.classes, inClasses, 'class in Default')
    drop(fallback.suffixes, inClasses, 'suffix of a method of Default')
  }
  const dropSuffixes = (node: GrowingClass): void => {
    drop(
      node.suffixes,
      (name) => (node.classes.has(name) ? 'class' : undefined),
      `suffix of a method of ${node.className}`,
    )
    for (const nested of node.classes.values()) dropSuffixes(nested)
  }
  for (const node of [...classes.values(), ...(fallback === undefined ? [] : [fallback])]) dropSuffixes(node)
  return [...warnings, ...[...modules].flatMap(([name, child]) => dropUnreachable(child, `${path}/${name}`))]
}

/** Returns all endpoints of the tree, in the order of their URLs. */
function endpointsOf(root: ModuleNode): readonly Endpoint[] {
  const ofClass = (node: ClassNode): Endpoint[] => [
    node,
    ...node.suffixes.values(),
    ...[...node.classes.values()].flatMap(ofClass),
  ]
  const ofModule = (node: ModuleNode): Endpoint[] => [
    ...(node.fallback === undefined ? [] : ofClass(node.fallback)),
    ...[...node.classes.values()].flatMap(ofClass),
    ...[...node.modules.values()].flatMap(ofModule),
  ]
  const byPath = (a: Endpoint, b: Endpoint): number => (basePath(a) < basePath(b) ? -1 : 1)
  return ofModule(root).sort(byPath)
}
