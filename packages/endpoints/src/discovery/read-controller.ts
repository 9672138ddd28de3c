import { type ClassBody, type PropertyDefinition, parseExpressionAt } from 'acorn'
import { Controller } from '../controller.ts'
import type { Guard } from '../guards/guard.ts'
import type { ControllerClass } from '../routing/table.ts'
import { VERBS, type Verb } from '../routing/verbs.ts'
import { urlName } from './url-name.ts'

export interface HandlerMethod {
  /** The name of the method, such as `GET_stats`. */
  readonly name: string
  readonly verb: Verb | 'ANY'
  /** The URL name of the suffix, or `undefined` if the method has no suffix. */
  readonly suffix: string | undefined
  /** The method itself. The framework later reads its parameters from its source or its declaration. */
  readonly method: (this: Controller, ...args: unknown[]) => unknown
}

const HANDLER_VERBS = [...VERBS, 'ANY'] as const
const handlerName = new RegExp(`^(${HANDLER_VERBS.join('|')})(?:_(.+))?$`)

type AnyClass = { readonly prototype?: object }

/** Returns whether an export of a module is a class that derives from `Controller`. */
export function isController(value: unknown): value is ControllerClass {
  return typeof value === 'function' && value.prototype instanceof Controller
}

/**
 * Returns the handlers of a class (reference: Handlers). They are methods of its prototypes below `Controller`. If two methods
 * have the same name, the one of the derived class counts. Getters, symbols and fields are not handlers.
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

/** Returns the methods of a class that would be handlers if the class derived from `Controller`. */
export function strayHandlers(value: AnyClass): readonly string[] {
  if (isController(value) || typeof value.prototype !== 'object') return []
  return Object.getOwnPropertyNames(value.prototype).filter((name) => handlerName.test(name))
}

/** Returns the methods that have names of unsupported verbs. */
export function reservedHandlers(controller: ControllerClass): readonly string[] {
  return Object.getOwnPropertyNames(controller.prototype).filter((name) =>
    /^(?:CONNECT|DISCONNECT|SOCKET|TRACE)(?:_|$)/.test(name),
  )
}

/** Returns the class and its base classes without `Controller`, the most basic class first. */
export function lineage(value: object): readonly object[] {
  const classes: object[] = []
  // A value without its own prototype is either Function.prototype or an arrow function that contains classes.
  for (let each = value; each !== Controller; each = Object.getPrototypeOf(each)) {
    if (each !== value && !Object.hasOwn(each, 'prototype')) break
    classes.unshift(each)
  }
  return classes
}

/** Returns the guards of the class itself. @throws Error if the class has guards that would never run */
export function ownGuards(value: object): readonly Guard[] {
  if (hasInstanceUse(value)) throw new Error('has guards on its instances, where they never run: write static use')
  const use: unknown = Object.hasOwn(value, 'use') ? Reflect.get(value, 'use') : undefined
  if (use === undefined) return []
  if (!Array.isArray(use) || !use.every((each) => typeof each === 'function')) {
    throw new Error('has a static use that is not a list of guards')
  }
  return use
}

/** Returns whether instances have a `use`. Compilers may move such a field to the constructor. */
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
 * Returns the controllers that are static properties of a class, each with the name of its property. The names extend the URL of
 * the class.
 */
export function nestedControllers(outer: object): readonly (readonly [string, ControllerClass])[] {
  return Object.entries(Object.getOwnPropertyDescriptors(outer)).flatMap(([name, { value }]) =>
    isController(value) ? [[name, value] as const] : [],
  )
}

/** Returns whether a class has no URL, because of its name or because of `static private`. */
export function isPrivate(name: string, value: object): boolean {
  return name.startsWith('_') || name.endsWith('Controller') || ownPrivate(value)
}

function ownPrivate(value: object): boolean {
  return Object.getOwnPropertyDescriptor(value, 'private')?.value === true
}
