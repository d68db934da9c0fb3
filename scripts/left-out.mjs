// Packages that libraries load and this service never reaches: a bundle has a stand-in in their place, so that production
// carries no code that nobody runs, and no advisory of it. See docs/adr/0069-what-production-carries.md. A stand-in that is
// reached all the same fails with its name; the tests of bundled programs walk the ways that come closest.

/** Ends what reaches for a package that is not there. */
const absent = (name, word) =>
  `() => { throw new Error('${name} (${word}) is not in this build, see scripts/left-out.mjs') }`

/** A stand-in with these exports, each of which fails. */
const failing = (name, ...words) =>
  `module.exports = { ${words.map((word) => `${word}: ${absent(name, word)}`).join(', ')} }`

/** Each package, the code that stands in for it, and beside it why its own is not reached. */
const STAND_INS = {
  // Requests are read by src/producer. The dashboard's router asks for a reader, and is never given a body.
  'body-parser': `const pass = () => (_request, _response, next) => next()
    module.exports = { json: pass, raw: pass, text: pass, urlencoded: pass }`,
  // Express reads queries with node:querystring unless it is told otherwise.
  qs: failing('qs', 'parse', 'stringify'),
  // Cookies are not signed by Express.
  'cookie-signature': failing('cookie-signature', 'sign', 'unsign'),
  // Prints commands with the numbers and texts in them when DEBUG is set: nothing that production should be able to do.
  debug: `const silent = (namespace) => Object.assign(() => {}, { enabled: false, namespace })
    module.exports = Object.assign(silent, { default: silent, enable() {}, disable() {}, enabled: () => false })`,
  // What Node has itself.
  'node-abort-controller': 'module.exports = { AbortController, AbortSignal }',
  inherits: "module.exports = require('node:util').inherits",
  setprototypeof: 'module.exports = Object.setPrototypeOf',
  // Express listens nowhere: its handler is given to a server of ours.
  once: "module.exports = () => { throw new Error('once is not in this build, see scripts/left-out.mjs') }",
  // No job repeats by a cron pattern.
  'cron-parser': `module.exports = { CronExpressionParser: { parse: ${absent('cron-parser', 'parse')} } }`,
  // The dashboard hides what Redis says of itself.
  'redis-info': failing('redis-info', 'parse'),
  // Optional in cli-table3, whose tables have no colours here.
  '@colors/colors': "throw new Error('@colors/colors is not in this build')",
  // The S3 client for browsers, for functions, and for a person who signed in at a terminal: servers have their
  // credentials from the environment, a file, the container, the machine or a web identity.
  bowser: failing('bowser', 'parse'),
  '@aws/lambda-invoke-store': `module.exports = { InvokeStore: { getInstanceAsync: async () => undefined } }`,
  '@aws-sdk/credential-provider-sso': failing('@aws-sdk/credential-provider-sso', 'fromSSO'),
  '@aws-sdk/credential-provider-login': failing('@aws-sdk/credential-provider-login', 'fromLoginCredentials'),
}

/** The names of the packages that no bundle contains. */
export const LEFT_OUT = Object.keys(STAND_INS)

const PREFIX = '\0left out: '

/** Puts the stand-ins in the place of the packages. */
export const leaveOut = {
  name: 'leave out',
  resolveId: {
    filter: { id: new RegExp(`^(${LEFT_OUT.join('|')})(/|$)`) },
    handler: (id) => `${PREFIX}${LEFT_OUT.find((name) => id === name || id.startsWith(`${name}/`))}.cjs`,
  },
  load: {
    filter: { id: new RegExp(`^${PREFIX}`) },
    handler: (id) => STAND_INS[id.slice(PREFIX.length, -'.cjs'.length)],
  },
}
