import { type ClassBody, type PropertyDefinition, parseExpressionAt } from 'acorn'
import { Controller } from '../controller.ts'
import type { Guard } from '../guards/guard.ts'
import type { ControllerClass } from '../routing/table.ts'
import { VERBS, type Verb } from '../routing/verbs.ts'
import { urlName } from './url-name.ts'

export interface HandlerMethod {
  /** `GET_stats` */
  readonly name: string
  readonly verb: Verb | 'ANY'
  /** URL name of the suffix; undefined without a suffix. */
  readonly suffix: string | undefined
  /** The function that answers. Its parameters are read later, from its source or its declaration. */
  readonly method: (this: Controller, ...args: unknown[]) => unknown
}

const HANDLER_VERBS = [...VERBS, 'ANY'] as const
const handlerName = new RegExp(`^(${HANDLER_VERBS.join('|')})(?:_(.+))?$`)

/** An exported function, which may be a class. */
type AnyClass = { readonly prototype?: object }

/** Whether an export of a module is a class that derives from `Controller`. */
export function isController(value: unknown): value is ControllerClass {
  return typeof value === 'function' && value.prototype instanceof Controller
}

/**
 * The handlers of a class (reference: Handlers): methods of the prototypes below `Controller`. Of one name, the nearest counts.
 * Getters, symbols and fields are not handlers.
 */
export function handlersOf(controller: ControllerClass): readonly HandlerMethod[] {
  const handlers: HandlerMethod[] = []
  const seen = new Set<string>()
  for (
    let prototype = controller.prototype;
    prototype !== Controller.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const [, word, suffix] = handlerName.exec(name) ?? []
      const verb = HANDLER_VERBS.find((each) => each === word)
      if (verb === undefined || seen.has(name)) continue
      seen.add(name)
      if (typeof value !== 'function') continue
      handlers.push({ name, verb, suffix: suffix && urlName(suffix), method: value })
    }
  }
  return handlers
}

/** Methods of a class that would be handlers if it derived from `Controller`. */
export function strayHandlers(value: AnyClass): readonly string[] {
  if (isController(value) || typeof value.prototype !== 'object') return []
  return Object.getOwnPropertyNames(value.prototype).filter((name) => handlerName.test(name))
}

/** Methods with the names of verbs that are not served. */
export function reservedHandlers(controller: ControllerClass): readonly string[] {
  return Object.getOwnPropertyNames(controller.prototype).filter((name) =>
    /^(?:CONNECT|DISCONNECT|SOCKET|TRACE)(?:_|$)/.test(name),
  )
}

/** The class and its base classes, base first, without `Controller`. */
export function lineage(value: object): readonly object[] {
  const classes: object[] = []
  // A value without its own prototype is Function.prototype, or an arrow function that holds classes.
  for (let each = value; each !== Controller; each = Object.getPrototypeOf(each)) {
    if (each !== value && !Object.hasOwn(each, 'prototype')) break
    classes.unshift(each)
  }
  return classes
}

/** The guards of the class itself. @throws Error for guards that would never run */
export function ownGuards(value: object): readonly Guard[] {
  if (hasInstanceUse(value)) throw new Error('has guards on its instances, where they never run: write static use')
  const use: unknown = Object.hasOwn(value, 'use') ? Reflect.get(value, 'use') : undefined
  if (use === undefined) return []
  if (!Array.isArray(use) || !use.every((each) => typeof each === 'function')) {
    throw new Error('has a static use that is not a list of guards')
  }
  return use
}

/** Whether instances have a `use`: on the prototype, as a field, or set in the constructor, into which compilers move fields. */
function hasInstanceUse(value: object): boolean {
  const prototype: unknown = Reflect.get(value, 'prototype')
  const inherited = isObject(prototype) && Object.getOwnPropertyDescriptor(prototype, 'use')
  if (inherited && typeof inherited.value !== 'function') return true
  const text = `(${Function.prototype.toString.call(value)})`
  return classBody(text).some((member) => {
    if (member.type === 'PropertyDefinition') return !member.static && member.value && keyOf(member) === 'use'
    if (member.type !== 'MethodDefinition' || member.kind !== 'constructor') return false
    return /\bthis\.use\s*=(?!=)|\(\s*this\s*,\s*["']use["']/.test(text.slice(member.start, member.end))
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function classBody(text: string): ClassBody['body'] {
  try {
    const node = parseExpressionAt(text, 0, { ecmaVersion: 'latest', sourceType: 'module', checkPrivateFields: false })
    return node.type === 'ClassExpression' ? node.body.body : []
  } catch {
    return []
  }
}

function keyOf({ key }: PropertyDefinition): unknown {
  if (key.type === 'Identifier') return key.name
  return key.type === 'Literal' ? key.value : undefined
}

/**
 * Returns the controllers that are static properties of a class, each after the name of its property. The names are further parts
 * of the URL of the class.
 */
export function nestedControllers(outer: object): readonly (readonly [string, ControllerClass])[] {
  return Object.entries(Object.getOwnPropertyDescriptors(outer)).flatMap(([name, { value }]) =>
    isController(value) ? [[name, value] as const] : [],
  )
}

/** Whether a class is not routable, by its name or by `static private`. */
export function isPrivate(name: string, value: object): boolean {
  return name.startsWith('_') || name.endsWith('Controller') || ownPrivate(value)
}

function ownPrivate(value: object): boolean {
  return Object.getOwnPropertyDescriptor(value, 'private')?.value === true
}
