/** A value of a query: its text, or one text for each repetition. Undefined is left out. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined | readonly (string | number)[]>>

type Parts = readonly (string | number)[]

/** The URL of a request, and builders of others beside it. */
export class RequestUrl extends URL {
  readonly #modulePath: Parts
  readonly #controllerPath: Parts

  /** The paths are those of the module and of the class that answer, mount prefix included. */
  constructor(href: string, modulePath: Parts, controllerPath: Parts) {
    super(href)
    this.#modulePath = modulePath
    this.#controllerPath = controllerPath
  }

  /** A URL below the module that answers: `url.module('bar', 7, { page: 2 })`. */
  module(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#modulePath, parts)
  }

  /** A URL below the class that answers. */
  controller(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#controllerPath, parts)
  }

  #build(base: Parts, given: readonly (string | number | QueryValues)[]): URL {
    const parts = given.filter((part) => typeof part !== 'object')
    const query = given.find((part) => typeof part === 'object') ?? {}
    const path = [...base, ...parts].map((part) => encodeURIComponent(part)).join('/')
    const url = new URL(`/${path}`, this.origin)
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue
      for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each))
    }
    return url
  }
}
