// The gallery: folders, their files, and the trash.
import { useState } from 'preact/hooks'
import type { FileJson, FolderJson } from '../../../../src/producer/api/gallery/routes.ts'
import { bytesText, counted, countText } from '../logic/numbers.ts'
import { toggled } from '../parts/fields.tsx'
import { ask, thenNotify } from '../parts/form.tsx'
import { List, type Source } from '../parts/list.tsx'
import { Empty, Page, WhenLoaded } from '../parts/page.tsx'
import { Button, Copy, notify } from '../parts/press.tsx'
import { Badge, Text } from '../parts/text.tsx'
import { somethingChanged, useLoad } from '../state/hooks.ts'
import { call, dataOf } from '../state/http.ts'
import { place } from '../state/router.ts'

const GALLERY = '/partners/wp-gallery/manage'

const loadFolders = (signal: AbortSignal): Promise<FolderJson[]> =>
  dataOf('GET', `${GALLERY}/folders`, { query: { limit: 1_000 }, signal })

/** The files of a folder, or of the trash. */
const filesIn = (folder: number | undefined): Source<FileJson> => ({
  key: `files ${folder ?? 'trash'}`,
  async load(after, signal) {
    const query = { limit: 60, after, folder_id: folder, trash: folder === undefined ? 'true' : undefined }
    const { data, next_after: next } = await call<{ data: FileJson[]; next_after: number | null }>(
      'GET',
      `${GALLERY}/files`,
      { query, signal },
    )
    return { data, next: next === null ? null : String(next) }
  },
})

/** The page; `?folder=` chooses a folder, `?trash=true` shows deleted files. */
export function Gallery() {
  const { query } = place.value
  const trash = query.get('trash') === 'true'
  const folders = useLoad('folders', loadFolders)
  const all = folders.value ?? []
  const chosen = trash ? undefined : (all.find(({ id }) => String(id) === query.get('folder')) ?? all[0])
  return (
    <Page title="Gallery" actions={<Button press={newFolder}>New folder</Button>}>
      <WhenLoaded loaded={folders}>
        {() => (
          <div class="shelves">
            <nav aria-label="Folders">
              <ul>
                {all.map(({ id, name, file_count }) => (
                  <li key={id}>
                    <a href={`/console/gallery?folder=${id}`} aria-current={chosen?.id === id ? 'true' : undefined}>
                      <Text text={name} /> <span class="quiet">{countText(file_count)}</span>
                    </a>
                  </li>
                ))}
                <li>
                  <a href="/console/gallery?trash=true" aria-current={trash ? 'true' : undefined}>
                    Trash
                  </a>
                </li>
              </ul>
            </nav>
            {trash || chosen !== undefined ? (
              <Files key={chosen?.id ?? 'trash'} folder={chosen} folders={all} />
            ) : (
              <Empty title="No folder yet.">
                Files for headers of messages and for images are kept in folders. Create one to begin.
              </Empty>
            )}
          </div>
        )}
      </WhenLoaded>
    </Page>
  )
}

/** Only the path: the page may be open under another host name of the same server. */
const pathOf = (url: string): string => new URL(url, location.origin).pathname

/** The files of a folder; without one, of the trash. Chosen files are moved or deleted together. */
function Files({ folder, folders }: { folder: FolderJson | undefined; folders: readonly FolderJson[] }) {
  const [chosen, setChosen] = useState<readonly FileJson[]>([])
  const inTrash = folder === undefined
  const isChosen = (id: number): boolean => chosen.some((each) => each.id === id)
  const flip = (file: FileJson): void =>
    setChosen(isChosen(file.id) ? chosen.filter(({ id }) => id !== file.id) : toggled(chosen, file))
  const many = chosen.length > 0 && counted(chosen.length, 'file')
  return (
    <section class="stack" aria-labelledby="folder">
      <div class="spread">
        <h2 id="folder">{folder ? <Text text={folder.name} /> : 'Trash'}</h2>
        {folder && (
          <div class="actions">
            {!folder.is_system && <Button press={() => renameFolder(folder)}>Rename</Button>}
            <Button variant="primary" press={() => upload(folder)}>
              Upload a file
            </Button>
          </div>
        )}
      </div>
      {!inTrash && (
        <div class="actions">
          <Button disabled={!many} press={() => move(chosen, folders, () => setChosen([]))}>
            Move {many}
          </Button>
          <Button disabled={!many} press={() => trash(chosen, () => setChosen([]))}>
            Delete {many}
          </Button>
        </div>
      )}
      <List
        cards
        caption="Files"
        from={filesIn(folder?.id)}
        keyOf={({ id }) => id}
        empty={
          <Empty title={folder ? 'This folder has no files.' : 'The trash is empty.'}>
            {folder ? 'Upload one, or move some here.' : 'Deleted files can be restored from here.'}
          </Empty>
        }
        columns={[
          !inTrash && {
            title: 'Choose',
            cell: (file) => (
              <input
                type="checkbox"
                aria-label={`Choose ${file.name}`}
                checked={isChosen(file.id)}
                onChange={() => flip(file)}
              />
            ),
          },
          {
            title: 'File',
            head: true,
            cell: ({ type, url, name }) =>
              inTrash ? (
                <Text text={name} />
              ) : (
                <span class="file">
                  {type === 'image' && <img src={pathOf(url)} alt="" loading="lazy" />}
                  <a href={pathOf(url)} target="_blank" rel="noreferrer">
                    <Text text={name} />
                  </a>
                </span>
              ),
          },
          { title: 'Id', number: true, cell: ({ id }) => id },
          { title: 'Size', number: true, cell: ({ size }) => bytesText(size) },
          {
            title: 'Can be sent',
            cell: ({ is_chatapp_compatible: can }) => <Badge tone={can ? 'good' : 'wait'}>{can ? 'yes' : 'no'}</Badge>,
            note: (file) => !file.is_chatapp_compatible && file.chatapp_compatibility_reason,
          },
          { title: 'Uploaded', wide: true, at: ({ uploaded_at }) => uploaded_at },
          inTrash
            ? {
                title: 'Restore',
                cell: (file) => (
                  <Button of={`Restore ${file.name}`} press={() => restore(file)}>
                    Restore
                  </Button>
                ),
              }
            : { title: 'Link', cell: ({ name, url }) => <Copy what={`link to ${name}`} text={url} /> },
        ]}
      />
    </section>
  )
}

const upload = ({ id }: FolderJson): void =>
  ask({
    title: 'Upload a file',
    verb: 'Upload',
    fields: { file: { kind: 'file', label: 'File' } },
    ready: ({ file }) => file !== undefined,
    act: async ({ file }) => {
      if (file === undefined) return undefined
      const body = new FormData()
      body.set('folder_id', String(id))
      body.set('file', file)
      await call('POST', `${GALLERY}/files`, { body })
      return `${file.name} is uploaded.`
    },
  })

async function restore(file: FileJson): Promise<void> {
  await call('POST', `${GALLERY}/files/${file.id}/restore`)
  notify(`${file.name} is back in its folder.`)
  somethingChanged()
}

const newFolder = (): void =>
  ask({
    title: 'New folder',
    verb: 'Create',
    fields: { name: { label: 'Name', required: true } },
    act: (body, headers) =>
      thenNotify(call('POST', `${GALLERY}/folders`, { body, headers }), `The folder ${body.name.trim()} is created.`),
  })

const renameFolder = ({ id, name }: FolderJson): void =>
  ask({
    title: 'Rename the folder',
    verb: 'Rename',
    fields: { name: { label: 'Name', required: true, value: name } },
    act: (body) => thenNotify(call('PUT', `${GALLERY}/folders/${id}`, { body }), 'Renamed.'),
  })

const Names = ({ files }: { files: readonly FileJson[] }) => (
  <ul>
    {files.slice(0, 8).map(({ id, name }) => (
      <li key={id}>
        <Text text={name} />
      </li>
    ))}
    {files.length > 8 && <li>and {files.length - 8} more</li>}
  </ul>
)

function move(files: readonly FileJson[], folders: readonly FolderJson[], onDone: () => void): void {
  const others = folders.filter(({ id }) => files.some(({ folder_id }) => folder_id !== id))
  ask({
    title: `Move ${counted(files.length, 'file')}`,
    verb: 'Move',
    text: <Names files={files} />,
    fields: {
      folder: {
        label: 'To the folder',
        options: others.map(({ id, name }) => [String(id), name]),
        value: String(others[0]?.id ?? ''),
      },
    },
    note: 'Links to them stay the same.',
    ready: ({ folder }) => folder !== '',
    act: async ({ folder }) => {
      const body = { file_ids: files.map(({ id }) => id), folder_id: Number(folder) }
      const { message } = await call<{ message: string }>('POST', `${GALLERY}/files/bulk-move`, { body })
      onDone()
      return message
    },
  })
}

const trash = (files: readonly FileJson[], onDone: () => void): void =>
  ask({
    title: `Delete ${counted(files.length, 'file')}`,
    verb: 'Move to the trash',
    danger: true,
    text: <Names files={files} />,
    note: 'They can be restored from the trash. Messages that still have to fetch them would fail.',
    act: async () => {
      for (const { id } of files) await call('DELETE', `${GALLERY}/files/${id}`)
      onDone()
      return `${counted(files.length, 'file')} moved to the trash.`
    },
  })
