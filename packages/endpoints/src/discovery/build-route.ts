import { type AcceptsSpec, checkSpec, declarationsOf, isNoDeclaration } from '../binding/accepts.ts'
import { bindDeclaration } from '../binding/bind-declaration.ts'
import { bindSignature, parameterNames, reflectSignature } from '../binding/signature.ts'
import { typeOfFileName } from '../body/media-type.ts'
import { checkLimit, multipartLimits } from '../config/limit.ts'
import type { Settings } from '../config/settings.ts'
import type { Guard } from '../guards/guard.ts'
import { buildPatterns } from '../routing/pattern.ts'
import type { ControllerClass, Route } from '../routing/table.ts'
import { placeOfMethod } from './fault-place.ts'
import type { HandlerMethod } from './read-controller.ts'

/** The place of a class in the tree of URLs. */
export interface ClassPlace {
  readonly controller: ControllerClass
  readonly className: string
  readonly source: string
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly extension: string | undefined
  /** Guards of the classes that it is nested in, of its base classes, and its own. */
  readonly guards: readonly Guard[]
}

/**
 * Makes a route for each declaration of a handler, with everything that can be known before a request comes.
 * @throws Error that names the handler
 */
export function buildRoutesOf(place: ClassPlace, handler: HandlerMethod, settings: Settings): readonly Route[] {
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
