// Serves the pages of the console, which Vite builds from packages/console/src into dist/console. The files are public; their data
// takes a session. The Content-Security-Policy keeps them from loading from or sending to another host.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { RequestHandler, Response } from 'express'
import express from 'express'
import { ApiError } from '../../errors.ts'
import { CONSOLE_PATH } from '../table.ts'

/** Beside the compiled producer; when it runs from its source, where the last build is. */
const ROOT = resolve(import.meta.dirname, '../../..')
const BUILT = join(ROOT, import.meta.filename.endsWith('.ts') ? '../dist/console' : 'console')

const POLICY = [
  ...[
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
  ],
  ...["media-src 'self' blob:", "font-src 'self'", "manifest-src 'self'"],
  ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
}

/** Handles GET and HEAD of the pages in `folder` and redirects browsers there from /; lets everything else pass. */
export function consolePages(folder = BUILT): RequestHandler {
  // Names of assets hold a hash of their content: another content has another name.
  const assets = express.static(join(folder, 'assets'), {
    immutable: true,
    maxAge: '1y',
    index: false,
    redirect: false,
  })
  const others = express.static(folder, { maxAge: 0, index: false, redirect: false })

  return (request, response, next) => {
    const { path } = request
    if (request.method !== 'GET' && request.method !== 'HEAD') return next()
    if (path === '/') return response.redirect(302, CONSOLE_PATH)
    if (path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return next()
    response.set(HEADERS)
    const inside = path.slice(CONSOLE_PATH.length)
    const isAsset = inside.startsWith('/assets/')
    // Ids of WhatsApp have dots in them, so that only what lies at the top can be a file.
    if (!isAsset && !/^\/[\w-]+\.\w+$/.test(inside)) return sendPage(folder, response, next)
    request.url = isAsset ? inside.slice('/assets'.length) : inside
    const files = isAsset ? assets : others
    files(request, response, next)
  }
}

function sendPage(folder: string, response: Response, next: (error?: unknown) => void): void {
  if (!existsSync(join(folder, 'index.html'))) {
    throw new ApiError(
      503,
      'unavailable',
      'The pages of the console were not built. Run `npm run build` and start again.',
    )
  }
  response.set('Cache-Control', 'no-cache')
  response.sendFile('index.html', { root: folder, cacheControl: false }, (error) => {
    // A client that hung up needs no answer.
    if (error && !response.headersSent) next(error)
  })
}
