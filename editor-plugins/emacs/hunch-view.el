;;; hunch-view.el --- View of the context of a file -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Fetches contexts with ETags, and shows that of the current file in one buffer.

;;; Code:

(require 'hunch-client)
(require 'hunch-drawing)
(require 'hunch-signals)

(defcustom hunch-budget nil
  "Maximum tokens of a context; nil leaves it to the daemon."
  :type '(choice (const :tag "As the daemon likes" nil) natnum)
  :group 'hunch)

(defcustom hunch-follow t
  "Whether the context window follows the current file."
  :type 'boolean
  :group 'hunch)

(defcustom hunch-display-action
  '((display-buffer-reuse-window display-buffer-in-side-window) (side . right) (window-width . 62))
  "Action for `display-buffer' that shows the context."
  :type 'sexp
  :group 'hunch)

(defconst hunch--person-patience 15 "Seconds that a person waits for a context.")
(defconst hunch--reading 1.5 "Seconds between two looks at a project that is still being read.")
(defconst hunch--buffer "*hunch*")
(defvar hunch--kept (make-hash-table :test #'equal) "File → its bundle.")
(defvar hunch--shown-query nil)
(defvar hunch--shown-bundle nil)
(defvar hunch--again-timer nil)

;; Fetching

(cl-defun hunch--fetch (file done &key query wanted introduced)
  "Fetch the context of FILE; call DONE with a failure and a bundle.
QUERY is a question in words.  WANTED says that a person waits: the daemon
is started if there is none.  INTRODUCED says that the daemon was just told
of the project."
  (let* ((before (and (not query) (gethash file hunch--kept)))
         (etag (alist-get 'etag before)))
    (funcall
     (if wanted #'hunch--ask-or-start #'hunch--ask)
     "GET" "/context"
     (lambda (failure bundle status)
       (cond ((and (eql (hunch--status-of failure) 404) (not introduced))
              (hunch--introduce file
                                (lambda (trouble)
                                  (if trouble
                                      (funcall done trouble nil)
                                    (hunch--fetch file done :query query :wanted wanted :introduced t)))))
             (failure (funcall done failure nil))
             ((eql status 304) (funcall done nil before))
             (t
              (unless query (hunch--keep file bundle))
              (funcall done nil bundle))))
     :query `((project . ,(hunch--project file)) (file . ,(hunch--relative file))
              (query . ,query) (budget . ,hunch-budget))
     :headers (and etag `(("If-None-Match" . ,(format "\"%s\"" etag))))
     :timeout hunch--person-patience)))

(defun hunch--keep (file bundle)
  "Cache the BUNDLE of FILE, and show it if FILE is shown."
  (when (> (hash-table-count hunch--kept) 40) (clrhash hunch--kept))
  (puthash file bundle hunch--kept)
  (force-mode-line-update t)
  (when (and (equal file hunch--shown-file) (not hunch--shown-query) (get-buffer-window hunch--buffer t))
    (hunch--show-bundle bundle)))

(defun hunch--prepare ()
  "Fetch the context of the current file in the background.
Failures are of no interest."
  (when-let ((file (hunch--file (window-buffer (selected-window)))))
    (when (and (assoc file hunch--open) (not (member (hunch--project file) hunch--refused)))
      (hunch--fetch file #'ignore))))

(defun hunch--forget-bundles ()
  "Clear the cache: another daemon may answer differently."
  (clrhash hunch--kept))

;; The buffer

(defvar hunch-context-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'hunch-visit)
    (define-key map "o" #'hunch-visit-other-window)
    (define-key map "+" #'hunch-helpful)
    (define-key map "-" #'hunch-not-helpful)
    (define-key map "x" #'hunch-forget)
    (define-key map "w" #'hunch-why)
    (define-key map "n" #'hunch-next)
    (define-key map "p" #'hunch-previous)
    (define-key map "c" #'hunch-copy)
    map)
  "Keymap of the context buffer.")

(define-derived-mode hunch-context-mode special-mode "Hunch"
  "Major mode for the context of a file.

\\{hunch-context-mode-map}"
  :group 'hunch
  (setq-local revert-buffer-function (lambda (&rest _) (hunch--refresh))
              word-wrap t
              truncate-lines nil
              cursor-type 'box
              header-line-format
              (substitute-command-keys
               (concat " \\<hunch-context-mode-map>\\[hunch-visit] go · \\[hunch-helpful] helps · "
                       "\\[hunch-not-helpful] does not · \\[hunch-why] why · \\[describe-mode] keys")))
  (hl-line-mode 1))

(defun hunch--paint (draw)
  "Call DRAW to fill the buffer, and keep point on its entry."
  (with-current-buffer (get-buffer-create hunch--buffer)
    (unless (derived-mode-p 'hunch-context-mode) (hunch-context-mode))
    (let* ((inhibit-read-only t)
           (window (get-buffer-window nil t))
           (id (alist-get 'id (car (get-text-property (if window (window-point window) (point)) 'hunch-entry))))
           (goal nil))
      (erase-buffer)
      (funcall draw)
      (goto-char (point-min))
      (while (and (not goal) (setq goal (text-property-any (point) (point-max) 'hunch-start t)) id
                  (not (equal id (alist-get 'id (car (get-text-property goal 'hunch-entry))))))
        (goto-char (1+ goal))
        (setq goal nil)
        (unless (text-property-any (point) (point-max) 'hunch-start t) (setq id nil) (goto-char (point-min))))
      (goto-char (or goal (point-min)))
      (set-buffer-modified-p nil)
      (when window (set-window-point window (point))))))

(defun hunch--show-bundle (bundle)
  "Show BUNDLE."
  (setq hunch--shown-bundle bundle)
  (hunch--paint
   (lambda ()
     (hunch--insert-head bundle)
     (dolist (group (seq-group-by (lambda (each) (alist-get 'tier (car each))) (hunch--entries bundle)))
       (insert "\n")
       (hunch--insert (concat " " (aref hunch--tiers (1- (car group)))) 'hunch-section)
       (insert "\n")
       (mapc #'hunch--insert-entry (cdr group)))
     (when-let ((topics (hunch--topics bundle))) (hunch--insert-topics topics))))
  (when (equal (alist-get 'status bundle) "degraded")
    ;; While the project is being indexed the answer grows.
    (when (timerp hunch--again-timer) (cancel-timer hunch--again-timer))
    (setq hunch--again-timer (run-at-time hunch--reading nil #'hunch--refresh))))

(defun hunch--show-failure (failure)
  "Show FAILURE and how to fix it."
  (setq hunch--shown-bundle nil)
  (hunch--paint
   (lambda ()
     (hunch--insert (concat " " (file-name-nondirectory hunch--shown-file) "\n") 'hunch-place)
     (insert "\n")
     (hunch--insert (concat " " (cdr failure)) 'hunch-note " ")
     (insert (if (eq (car failure) 'unknown) "\n" "\n g asks again; `hunch doctor' in a terminal finds out why.\n")))))

(defun hunch--refresh ()
  "Refresh the shown context."
  (let ((file hunch--shown-file) (query hunch--shown-query))
    (when (and file (get-buffer-window hunch--buffer t))
      (hunch--fetch file
                    (lambda (failure bundle)
                      (when (and (equal file hunch--shown-file) (get-buffer-window hunch--buffer t))
                        (cond (failure (hunch--show-failure failure))
                              ((and (eq bundle hunch--shown-bundle)
                                    (not (equal (alist-get 'status bundle) "degraded"))))
                              (t (hunch--show-bundle bundle)))))
                    :query query :wanted t))))

(defun hunch--open-view (file query)
  "Show the context of FILE, for QUERY if that is not nil."
  (setq hunch--shown-file file
        hunch--shown-query query
        hunch--shown-bundle nil)
  (let ((known (and (not query) (gethash file hunch--kept))))
    (if known
        (hunch--show-bundle known)
      (hunch--paint (lambda ()
                      (hunch--insert (concat " " (file-name-nondirectory file)) 'hunch-place)
                      (insert "\n\n asking …\n"))))
    (display-buffer hunch--buffer hunch-display-action)
    (hunch--refresh)))

(defun hunch--follow (&rest _)
  "Follow a change of the current file."
  (when (and hunch-follow hunch--shown-file (not hunch--shown-query) (get-buffer-window hunch--buffer t))
    (let ((file (hunch--file (window-buffer (selected-window)))))
      (when (and file (not (equal file hunch--shown-file)))
        (setq hunch--shown-file file
              hunch--shown-bundle nil)
        (when-let ((known (gethash file hunch--kept))) (hunch--show-bundle known))
        (hunch--refresh)))))

;; Actions of the keys

(defun hunch--entry ()
  "Return the item at point, or signal a user error."
  (or (car (get-text-property (point) 'hunch-entry)) (user-error "There is no entry here")))

(defun hunch--say (failure)
  "Show FAILURE to the user."
  (message "hunch: %s" (cdr failure)))

(defun hunch--show-text (title text)
  "Show TEXT under TITLE in a window of its own."
  (with-current-buffer (get-buffer-create "*hunch text*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (propertize title 'face 'hunch-place) "\n\n" (string-trim text) "\n")
      (goto-char (point-min)))
    (special-mode)
    (visual-line-mode 1)
    (pop-to-buffer (current-buffer) '((display-buffer-reuse-window display-buffer-below-selected)))))

(defun hunch--go (file line name other)
  "Visit FILE and report it as used, at LINE or at the definition of NAME.
OTHER says that another window is wanted."
  (unless (file-exists-p file) (user-error "%s does not exist" file))
  (hunch--used file)
  (let ((window (and (eq (window-buffer) (get-buffer hunch--buffer))
                     (get-mru-window nil nil t t))))
    (when (window-live-p window) (select-window window)))
  (funcall (if other #'find-file-other-window #'find-file) file)
  (cond (line (goto-char (point-min)) (forward-line (1- line)))
        (name (goto-char (point-min))
              (when (re-search-forward (concat "\\_<" (regexp-quote name) "\\_>") nil t)
                (goto-char (match-beginning 0))))))

(defun hunch--show-commit (root sha)
  "Show the commit SHA of the repository at ROOT."
  (let* ((buffer (generate-new-buffer " *hunch commit*"))
         (default-directory (file-name-as-directory root)))
    (make-process
     :name "hunch git show" :buffer buffer :noquery t :connection-type 'pipe
     :command (list "git" "show" "--stat" "--patch" "--no-color" "--no-ext-diff" sha)
     :sentinel (lambda (process _)
                 (unless (process-live-p process)
                   (hunch--show-text (substring sha 0 10) (with-current-buffer buffer (buffer-string)))
                   (kill-buffer buffer))))))

(defun hunch-visit (&optional other)
  "Visit the target of the entry: file, line, definition, commit.
A name under \"Ask for more\" is expanded.  With OTHER, a prefix argument,
in another window."
  (interactive "P")
  (let ((topic (get-text-property (point) 'hunch-topic))
        (root (hunch--project hunch--shown-file)))
    (if topic
        (hunch--ask "POST" "/expand"
                    (lambda (failure answer _)
                      (if failure
                          (hunch--say failure)
                        (hunch--show-text topic (or (alist-get 'text answer) "Nothing more is known."))))
                    :body `((project . ,root) (topic . ,topic)))
      (let* ((source (alist-get 'source (hunch--entry)))
             (line (get-text-property (point) 'hunch-line)))
        (cond ((alist-get 'path source)
               (hunch--go (expand-file-name (alist-get 'path source) root) (alist-get 'line source)
                          (and line (hunch--defined line)) other))
              ((alist-get 'sha source) (hunch--show-commit root (alist-get 'sha source)))
              (t (hunch-why)))))))

(defun hunch-visit-other-window ()
  "Visit the target of the entry at point, in another window."
  (interactive)
  (hunch-visit t))

(defun hunch--judge (outcome)
  "Report OUTCOME as feedback for the entry at point."
  (let ((id (alist-get 'id (hunch--entry))))
    (hunch--ask "POST" "/feedback"
                (lambda (failure _ __)
                  (if failure
                      (hunch--say failure)
                    (setf (alist-get id hunch--verdicts nil nil #'equal) outcome)
                    (when hunch--shown-bundle (hunch--show-bundle hunch--shown-bundle))))
                :body `((items . [((id . ,id) (outcome . ,outcome)
                                   (project . ,(hunch--project hunch--shown-file)))])))))

(defun hunch-helpful ()
  "Mark the entry at point as helpful."
  (interactive)
  (hunch--judge "cited"))

(defun hunch-not-helpful ()
  "Mark the entry at point as not helpful."
  (interactive)
  (hunch--judge "wrong"))

(defun hunch-forget ()
  "Delete the memory at point permanently."
  (interactive)
  (let* ((item (hunch--entry))
         (id (alist-get 'id item))
         (title (hunch--unquoted (alist-get 'title item))))
    (when (string-prefix-p "file:" id)
      (user-error "A file is a prediction, not a memory: use `-' to mark it as not helpful"))
    (when (y-or-n-p (format "Forget “%s”? " title))
      (hunch--ask "DELETE" (concat "/memories/" (url-hexify-string id))
                  (lambda (failure _ __)
                    (if failure
                        (hunch--say failure)
                      (message "hunch: deleted: %s" title)
                      (hunch--refresh)))))))

(defun hunch--reasons (item)
  "Return the reasons of ITEM as text."
  (concat (mapconcat (lambda (reason) (concat "- " reason "\n")) (alist-get 'reasons item) "")
          (format "\n%s, tier %d, shown as %s for %d tokens\n" (alist-get 'kind item) (alist-get 'tier item)
                  (alist-get 'level item) (alist-get 'tokens item))
          (format (if (equal (alist-get 'kind item) "file") "%.0f %% likely to be needed\n" "usefulness %.0f of 100\n")
                  (* 100 (alist-get 'score item)))
          (format "trust: %s\n" (alist-get 'trust item))
          (mapconcat (lambda (each) (if (cdr each) (format "%s: %s\n" (car each) (cdr each)) ""))
                     (alist-get 'source item) "")))

(defun hunch-why ()
  "Show the reasons of the entry at point."
  (interactive)
  (let ((item (hunch--entry)))
    (hunch--show-text (hunch--unquoted (alist-get 'title item)) (hunch--reasons item))))

(defun hunch-copy ()
  "Copy the shown context as Markdown, for a chat or a prompt."
  (interactive)
  (unless hunch--shown-bundle (user-error "Nothing is shown"))
  (kill-new (alist-get 'context hunch--shown-bundle))
  (message "hunch: copied %d tokens of Markdown" (alist-get 'token_count hunch--shown-bundle)))

(defun hunch-next (&optional count)
  "Move forward by COUNT entries."
  (interactive "p")
  (dotimes (_ (or count 1))
    (when-let ((next (text-property-any (min (1+ (point)) (point-max)) (point-max) 'hunch-start t)))
      (goto-char next))))

(defun hunch-previous (&optional count)
  "Move back by COUNT entries."
  (interactive "p")
  (dotimes (_ (or count 1))
    (let ((before (point)) (goal nil))
      (goto-char (point-min))
      (while (let ((next (text-property-any (point) before 'hunch-start t)))
               (when next
                 (setq goal next)
                 (goto-char (1+ next)))))
      (goto-char (or goal before)))))

(provide 'hunch-view)
;;; hunch-view.el ends here
