;;; hunch-signals.el --- Signals to the hunchd daemon -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Reports opened, switched, saved and closed files, and remaining errors: in order, each once, and never blocking.  The
;; hooks only record; everything else happens when the keyboard is idle.

;;; Code:

(require 'hunch-client)
(require 'flymake)

(defvar flycheck-current-errors)
(declare-function flycheck-error-level "ext:flycheck" (error) t)
(declare-function flycheck-error-line "ext:flycheck" (error) t)
(declare-function flycheck-error-message "ext:flycheck" (error) t)

(defcustom hunch-add t
  "Whether to add unknown git repositories to the daemon.
It is t, nil, or a function of the repository's root that decides.  A home
folder that is itself a repository is never added."
  :type '(choice boolean function)
  :group 'hunch)

(defcustom hunch-report-errors t
  "Whether to report errors of Flymake and Flycheck."
  :type 'boolean
  :group 'hunch)

(defconst hunch--soon 0.15 "Seconds: what one keystroke causes goes in one request.")
(defconst hunch--most-pending 200 "Signals kept while there is no daemon; the oldest go first.")
(defconst hunch--longest-pause 15 "Seconds between attempts, at most.")
(defconst hunch--errors-settle 1.5 "Seconds without a further check before errors are reported.")
(defconst hunch--most-errors 5 "Errors of a file; the first one mostly causes the others.")
(defconst hunch--diagnostics "editor diagnostics" "Tells these errors from those of test runs.")

(defvar hunch--pending nil "Signals to be sent, the newest first.")
(defvar hunch--sending nil "What was sent and is not answered yet.")
(defvar hunch--pause 1)
(defvar hunch--send-timer nil)
(defvar hunch--look-timer nil)
(defvar hunch--number 0)
(defvar hunch--session nil)
(defvar hunch--roots (make-hash-table :test #'equal)
  "Folder → root of its repository, or `none'.")
(defvar hunch--refused nil
  "Roots and folders that must not be added.")
(defvar hunch--open nil "((FILE . TIME)…) of what was reported as opened, the newest first.")
(defvar hunch--current nil "The file that was reported last.")
(defvar hunch--reported (make-hash-table :test #'equal) "File → texts of its reported errors.")
(defvar hunch--on-sent nil "Functions to call after signals were accepted.")

;; Projects

(defun hunch--root (file)
  "Return the root of the repository of FILE, or nil."
  (let* ((folder (file-name-directory file))
         (known (gethash folder hunch--roots)))
    (unless known
      (setq known (or (when-let ((found (locate-dominating-file folder ".git")))
                        (directory-file-name (expand-file-name found)))
                      'none))
      (puthash folder known hunch--roots))
    (and (stringp known) known)))

(defun hunch--project (file)
  "Return the project of FILE: its repository's root, else its folder."
  (or (hunch--root file) (directory-file-name (file-name-directory file))))

(defun hunch--relative (file)
  "Return FILE relative to its project; unchanged outside a repository."
  (if-let ((root (hunch--root file)))
      (string-remove-prefix (file-name-as-directory root) file)
    file))

(defun hunch--may-add (file)
  "Return non-nil if FILE's project may be added."
  (let ((root (hunch--root file)))
    (and root
         (not (equal root (directory-file-name (expand-file-name "~"))))
         (if (functionp hunch-add) (funcall hunch-add root) hunch-add))))

(defun hunch--introduce (file done)
  "Add FILE's project to the daemon, if that is allowed.
Call DONE with nil or a failure."
  (let ((project (hunch--project file)))
    (if (not (hunch--may-add file))
        (progn
          (cl-pushnew project hunch--refused :test #'equal)
          (funcall done (cons 'unknown (format "%s is not known to hunchd: `hunch add' adds it" project))))
      (hunch--ask "POST" "/projects"
                  (lambda (failure _ __)
                    (when (eq (car failure) 'refused) (cl-pushnew project hunch--refused :test #'equal))
                    (funcall done failure))
                  :body `((path . ,project))))))

;; Sending

(defun hunch--signal (kind file fields &optional time)
  "Queue a signal of KIND for FILE at TIME (default: now), with FIELDS."
  (unless hunch--session
    (setq hunch--session (format "emacs-%x-%x" (emacs-pid) (truncate (* 1000 (float-time))))))
  (push (list :file file :again nil
              :wire `((kind . ,kind) (project . ,(hunch--project file))
                      (event_id . ,(format "%s-%d" hunch--session (cl-incf hunch--number)))
                      (at . ,(format-time-string "%FT%T.%3NZ" time t))
                      (source . "editor")
                      ,@fields))
        hunch--pending)
  (setq hunch--pending (seq-take hunch--pending hunch--most-pending)
        hunch--pause 1)
  (hunch--send-in hunch--soon))

(defun hunch--send-in (delay)
  "Send pending signals in DELAY seconds."
  (when (timerp hunch--send-timer) (cancel-timer hunch--send-timer))
  (setq hunch--send-timer (run-at-time delay nil #'hunch--send)))

(defun hunch--put-back (batch)
  "Put BATCH, oldest first, in front of the pending signals."
  (setq hunch--pending (seq-take (append hunch--pending (reverse batch)) hunch--most-pending)))

(defun hunch--send ()
  "Send pending signals, unless a request is under way."
  (unless (or hunch--sending (null hunch--pending))
    (let ((batch (cl-remove-if (lambda (each) (member (hunch--project (plist-get each :file)) hunch--refused))
                               (reverse hunch--pending))))
      (setq hunch--pending nil)
      (when batch
        (setq hunch--sending batch)
        (hunch--ask "POST" "/signals"
                    (lambda (failure answer _)
                      (setq hunch--sending nil)
                      (if failure
                          (hunch--not-sent batch failure)
                        (setq hunch--pause 1)
                        (hunch--sent batch answer)))
                    :body `((signals . ,(vconcat (mapcar (lambda (each) (plist-get each :wire)) batch)))))))))

(defun hunch--not-sent (batch failure)
  "Keep BATCH for later, unless FAILURE is permanent."
  ;; 401: a replaced token; 429, 503, 507: too many requests, a starting component, a full disk.
  (when (or (not (eq (car failure) 'refused)) (memq (hunch--status-of failure) '(401 429 503 507)))
    (hunch--put-back batch)
    (hunch--send-in hunch--pause)
    (setq hunch--pause (min (* 2 hunch--pause) hunch--longest-pause))
    (when (eq (car failure) 'absent)
      (hunch--start-once (lambda () (hunch--send-in 0))))))

(defun hunch--sent (batch answer)
  "Handle ANSWER to BATCH.
Tell the daemon of projects that it does not know, and send those once more."
  (let ((strangers nil))
    (dolist (rejection (alist-get 'rejected answer))
      (when (equal (alist-get 'code (alist-get 'error rejection)) "not_found")
        (push (nth (alist-get 'index rejection) batch) strangers)))
    (dolist (group (seq-group-by (lambda (each) (hunch--project (plist-get each :file)))
                                 (cl-remove-if (lambda (each) (plist-get each :again)) (nreverse strangers))))
      (let ((those (mapcar (lambda (each) (plist-put each :again t)) (cdr group))))
        (hunch--introduce (plist-get (car those) :file)
                          (lambda (failure)
                            (unless failure
                              (hunch--put-back those)
                              (hunch--send-in 0))))))
    (when (< (length strangers) (length batch)) (run-hooks 'hunch--on-sent))
    (when hunch--pending (hunch--send-in 0))))

(defun hunch--send-again ()
  "Retry after another request was answered."
  (when (and hunch--pending (not hunch--sending)) (hunch--send-in 0)))

;; Files

(defun hunch--file (&optional buffer)
  "Return the local file of BUFFER (default: the current one), or nil."
  (when-let ((name (let ((shown (or buffer (current-buffer))))
                     (buffer-file-name (or (buffer-base-buffer shown) shown)))))
    (unless (or (file-remote-p name) (string-match-p "/\\.git/" name))
      (expand-file-name name))))

(defun hunch--report (file)
  "Report FILE as opened."
  (setq hunch--open (cons (cons file (current-time)) (assoc-delete-all file hunch--open))
        hunch--current file)
  (hunch--signal "file_opened" file `((path . ,(hunch--relative file)))))

(defun hunch--look ()
  "Report the visible files.
That is files in other windows that were not reported yet, and last the one
that is worked on."
  (let ((here (hunch--file (window-buffer (selected-window)))))
    (dolist (window (window-list))
      (let ((file (hunch--file (window-buffer window))))
        (when (and file (not (equal file here)) (not (assoc file hunch--open)) (file-exists-p file))
          (hunch--report file))))
    (when (and here (not (equal here hunch--current)) (file-exists-p here))
      (hunch--report here))))

(defun hunch--look-soon (&rest _)
  "Report once the user has settled; files passed through are skipped."
  (when (timerp hunch--look-timer) (cancel-timer hunch--look-timer))
  (setq hunch--look-timer (run-at-time hunch--soon nil #'hunch--look)))

(defun hunch--saved ()
  "Report that the current buffer was saved."
  (when-let ((file (hunch--file)))
    (unless (assoc file hunch--open) (hunch--report file))
    (hunch--signal "file_saved" file `((path . ,(hunch--relative file))))
    (hunch--errors-soon)))

(defun hunch--closed (&optional file)
  "Report that FILE (default: the current buffer's) is closed."
  (when-let ((file (or file (hunch--file))))
    (when (assoc file hunch--open)
      (setq hunch--open (assoc-delete-all file hunch--open))
      (when (equal file hunch--current) (setq hunch--current nil))
      (hunch--signal "file_closed" file `((path . ,(hunch--relative file)))))))

(defun hunch--used (file)
  "Report that the suggested FILE was visited."
  (hunch--signal "used" file `((path . ,(hunch--relative file)))))

(defun hunch--will-tell (opened)
  "Return non-nil if OPENED, (FILE . TIME), is pending or under way."
  (seq-some (lambda (each)
              (and (equal (plist-get each :file) (car opened))
                   (equal (alist-get 'kind (plist-get each :wire)) "file_opened")))
            (append hunch--pending hunch--sending)))

(defun hunch--returned ()
  "Report the open files to a restarted daemon."
  (setq hunch--refused nil)
  (dolist (each (reverse (seq-take (seq-remove #'hunch--will-tell hunch--open) 30)))
    (hunch--signal "file_opened" (car each) `((path . ,(hunch--relative (car each)))) (cdr each))))

(defun hunch--leave ()
  "Report the files that are closed with Emacs.
A daemon that has answered until now gets a moment for that."
  (mapc #'hunch--closed (mapcar #'car hunch--open))
  (when (and hunch--pending (not hunch--trouble))
    (let ((deadline (+ (float-time) 0.06)))
      (setq hunch--sending nil)
      (hunch--send)
      (while (and hunch--sending (< (float-time) deadline))
        (accept-process-output nil 0.005)))))

;; Errors

(defun hunch--flymake-errors ()
  "((LINE . MESSAGE)…) of the current buffer, as Flymake has them."
  (when (bound-and-true-p flymake-mode)
    (mapcar (lambda (each)
              (cons (line-number-at-pos (flymake-diagnostic-beg each) t) (flymake-diagnostic-text each)))
            (cl-remove-if-not (lambda (each)
                                (let ((type (flymake-diagnostic-type each)))
                                  (or (memq type '(:error eglot-error))
                                      (eq (and (symbolp type) (get type 'flymake-category)) 'flymake-error))))
                              (flymake-diagnostics)))))

(defun hunch--flycheck-errors ()
  "((LINE . MESSAGE)…) of the current buffer, as Flycheck has them."
  (when (bound-and-true-p flycheck-mode)
    (mapcar (lambda (each) (cons (flycheck-error-line each) (or (flycheck-error-message each) "")))
            (cl-remove-if-not (lambda (each) (eq (flycheck-error-level each) 'error)) flycheck-current-errors))))

(defun hunch--report-errors (buffer)
  "Report new errors of BUFFER, and clear those that disappeared."
  (when (and hunch-report-errors (buffer-live-p buffer))
    (with-current-buffer buffer
      ;; Unsaved buffers are skipped; saving checks again.
      (when-let ((file (and (not (buffer-modified-p)) (hunch--file))))
        (let* ((before (gethash file hunch--reported))
               (relative (hunch--relative file))
               (common `((command . ,hunch--diagnostics) (file . ,relative)))
               (found (seq-take (sort (append (hunch--flymake-errors) (hunch--flycheck-errors))
                                      (lambda (one other) (< (car one) (car other))))
                                hunch--most-errors))
               (texts nil))
          (dolist (each found)
            (let ((text (concat "error: " (truncate-string-to-width (cdr each) 2000))))
              (unless (or (member text before) (member text texts))
                (hunch--signal "error" file `((text . ,text) ,@common (line . ,(car each)))))
              (push text texts)))
          (if (and before (null texts))
              (hunch--signal "error_cleared" file common)
            (dolist (text (cl-set-difference before texts :test #'equal))
              (hunch--signal "error_cleared" file `((text . ,text) ,@common))))
          (puthash file texts hunch--reported))))))

(defvar-local hunch--errors-timer nil)

(defun hunch--errors-soon (&rest _)
  "Report errors of the current buffer once its checkers are idle."
  (when (and hunch-report-errors (hunch--file))
    (when (timerp hunch--errors-timer) (cancel-timer hunch--errors-timer))
    (setq hunch--errors-timer (run-at-time hunch--errors-settle nil #'hunch--report-errors (current-buffer)))))

(defun hunch--flymake-backend (report &rest _)
  "Backend that only notices the start of a check; REPORT gets nothing."
  (funcall report nil)
  (hunch--errors-soon))

(defun hunch--watch-flymake ()
  "Observe the checks of Flymake in this buffer."
  (if (bound-and-true-p flymake-mode)
      (add-hook 'flymake-diagnostic-functions #'hunch--flymake-backend nil t)
    (remove-hook 'flymake-diagnostic-functions #'hunch--flymake-backend t)))

;; On and off

(defconst hunch--hooks
  '((find-file-hook . hunch--look-soon)
    (window-buffer-change-functions . hunch--look-soon)
    (window-selection-change-functions . hunch--look-soon)
    (after-save-hook . hunch--saved)
    (kill-buffer-hook . hunch--closed)
    (kill-emacs-hook . hunch--leave)
    (flymake-mode-hook . hunch--watch-flymake)
    (flycheck-after-syntax-check-hook . hunch--errors-soon)
    (hunch--on-return . hunch--returned)
    (hunch--on-answer . hunch--send-again)))

(defun hunch--watch (on)
  "Start watching, or stop it if ON is nil."
  (dolist (each hunch--hooks)
    (if on
        (add-hook (car each) (cdr each))
      (remove-hook (car each) (cdr each))))
  (dolist (timer (list hunch--send-timer hunch--look-timer))
    (when (timerp timer) (cancel-timer timer)))
  (setq hunch--pending nil
        hunch--sending nil
        hunch--open nil
        hunch--current nil)
  (when on (hunch--look-soon)))

(provide 'hunch-signals)
;;; hunch-signals.el ends here
