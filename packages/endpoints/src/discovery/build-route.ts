import { Accepts } from '../binding/accepts.ts'
import { bindDeclaration } from '../binding/bind-declaration.ts'
import { bindSignature } from '../binding/bind-signature.ts'
import { parameterNames, reflectSignature } from '../binding/signature.ts'
import { typeOfFileName } from '../body/media-type.ts'
import type { Settings } from '../config/settings.ts'
import { Controller } from '../controller.ts'
import type { Guard } from '../guards/guard.ts'
import type { ControllerClass, Route } from '../routing/table.ts'
import { type HandlerMethod, lineage } from './read-controller.ts'

/** Where a class stands. */
export interface ClassPlace {
  readonly controller: ControllerClass
  readonly className: string
  readonly source: string
  readonly modulePath: readonly string[]
  readonly classPath: readonly string[]
  readonly extension: string | undefined
}

/** Everything about one handler that can be known before a request comes. @throws Error that names the handler. */
export function buildRoute(place: ClassPlace, handler: HandlerMethod, settings: Settings): Route {
  const { controller, classPath, className, source, modulePath, extension } = place
  const { name, verb, suffix, method } = handler
  const declaration: unknown = Reflect.get(controller, name)
  const spec = declaration instanceof Accepts ? declaration.spec : undefined
  try {
    const use = [...settings.use, ...lineage(controller).flatMap(ownGuards), ...(spec?.use ?? [])]
    return {
      verb,
      handler: name,
      method,
      controller,
      modulePath,
      classPath: suffix === undefined ? classPath : [...classPath, suffix],
      className,
      source,
      ...bindingOf(handler, spec, settings),
      guards: {
        early: use.filter(({ phase }) => phase !== 'bound'),
        bound: use.filter(({ phase }) => phase === 'bound'),
      },
      type: spec?.type,
      extensionType: extension === undefined ? undefined : typeOfFileName(extension),
      status: spec?.status,
      versions: spec?.version,
      returns: spec?.returns,
      bodyLimit: spec?.bodyLimit ?? settings.bodyLimit,
      spec,
      hooks: {
        before: controller.prototype.before !== Controller.prototype.before,
        after: controller.prototype.after !== Controller.prototype.after,
      },
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${source}: ${className}.${name} ${reason}`, { cause: error })
  }
}

function ownGuards(controller: ControllerClass): readonly Guard[] {
  return Object.hasOwn(controller, 'use') ? (controller.use ?? []) : []
}

function bindingOf(
  { method }: HandlerMethod,
  spec: Route['spec'],
  { signatures }: Settings,
): Pick<Route, 'binding' | 'names'> {
  if (spec !== undefined) return { binding: bindDeclaration(spec), names: parameterNames(method) }
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
