;;; hunch-client.el --- Asynchronous client of the hunchd daemon -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Asynchronous HTTP requests over a network process.  The daemon is found by its rendezvous file, which it writes at
;; each start and which is read for each request: a restarted daemon is found at once.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'subr-x)
(require 'url-util)

(defgroup hunch nil
  "Context for the current file, from the hunchd daemon."
  :group 'tools
  :prefix "hunch-")

(defcustom hunch-command "hunch"
  "Command that starts the daemon."
  :type 'string)

(defcustom hunch-start t
  "Whether to run `hunch start' when no daemon is found.
That happens once by itself, and whenever you ask for something."
  :type 'boolean)

(defconst hunch--protocol 1)
(defconst hunch--patience 5 "Seconds for an answer; a busy machine may take one or two.")

(defvar hunch--trouble nil
  "Message of the last failure, or nil after a successful request.")
(defvar hunch--token nil "The token of the daemon that answered last.")
(defvar hunch--on-return nil "Functions to call when another daemon answers than before.")
(defvar hunch--on-answer nil "Functions to call when a daemon answers after trouble.")
(defvar hunch--starting nil "Those who wait for `hunch start', while it runs.")
(defvar hunch--tried nil "Whether the daemon was started without being asked for.")

;; The same folders as in the daemon: see `hunch doctor'.
(defun hunch--rendezvous-file ()
  "Return the path of the rendezvous file."
  (let ((home (getenv "HUNCHD_HOME"))
        (runtime (getenv "XDG_RUNTIME_DIR"))
        (cache (getenv "XDG_CACHE_HOME")))
    (cond ((and home (not (string-empty-p home)))
           (expand-file-name "run/daemon.json" home))
          ((and runtime (not (string-empty-p runtime)) (not (eq system-type 'windows-nt)) (file-directory-p runtime))
           (expand-file-name "hunchd/daemon.json" runtime))
          ((eq system-type 'windows-nt)
           (expand-file-name "Temp/hunchd/daemon.json" (or (getenv "LOCALAPPDATA") "~/AppData/Local")))
          ((eq system-type 'darwin)
           (expand-file-name "~/Library/Caches/TemporaryItems/hunchd/daemon.json"))
          (t
           (expand-file-name "hunchd/run/daemon.json"
                             (if (member cache '(nil "")) "~/.cache" cache))))))

(defun hunch--parse (text)
  "Parse the JSON value in TEXT.
Objects are alists, arrays are lists, null and false are nil."
  (json-parse-string text :object-type 'alist :array-type 'list :null-object nil :false-object nil))

(defun hunch--rendezvous ()
  "Read the rendezvous file as an alist; return a string on failure."
  (let* ((file (hunch--rendezvous-file))
         (attributes (file-attributes file 'integer)))
    (cond ((null attributes) "no daemon is running")
          ((or (file-attribute-type attributes)
               (and (not (eq system-type 'windows-nt))
                    (not (eql (file-attribute-user-id attributes) (user-uid)))))
           (format "%s does not belong to your user" file))
          (t (condition-case nil
                 (let ((told (hunch--parse (with-temp-buffer
                                             (insert-file-contents file)
                                             (buffer-string)))))
                   (if (and (stringp (alist-get 'token told)) (stringp (alist-get 'url told)))
                       told
                     (error "Not a rendezvous")))
               (error (format "%s is not a valid rendezvous file" file)))))))

(defun hunch--target (path query)
  "Return PATH with QUERY, an alist of symbols; nil values are left out."
  (let ((given (cl-remove-if-not #'cdr query)))
    (concat path
            (and given "?")
            (mapconcat (lambda (each) (format "%s=%s" (car each) (url-hexify-string (format "%s" (cdr each)))))
                       given "&"))))

(defun hunch--head (daemon method target headers body)
  "Return the head of a request of METHOD to TARGET at DAEMON.
HEADERS is an alist, BODY a string or nil."
  (concat (format "%s %s HTTP/1.1\r\n" method target)
          (format "Host: %s\r\n" (string-remove-prefix "http://" (alist-get 'url daemon)))
          (format "Authorization: Bearer %s\r\nConnection: close\r\n" (alist-get 'token daemon))
          (mapconcat (lambda (header) (format "%s: %s\r\n" (car header) (cdr header))) headers "")
          (and body (format "Content-Type: application/json\r\nContent-Length: %d\r\n" (string-bytes body)))
          "\r\n"))

(defun hunch--response (text ended)
  "Parse the response TEXT to (STATUS . BODY); nil while incomplete.
ENDED says that nothing more comes."
  (when-let ((end (string-search "\r\n\r\n" text))
             (status (and (string-match "\\`HTTP/1\\.[01] \\([0-9]+\\)" text)
                          (string-to-number (match-string 1 text)))))
    (let* ((case-fold-search t)
           (body (substring text (+ end 4)))
           (length (and (string-match "\r\ncontent-length: *\\([0-9]+\\)" (substring text 0 end))
                        (string-to-number (match-string 1 text)))))
      (cond ((memq status '(204 304)) (cons status ""))
            ((if length (>= (length body) length) ended)
             (cons status (decode-coding-string (if length (substring body 0 length) body) 'utf-8)))))))

(defun hunch--connect (daemon filter sentinel)
  "Open an asynchronous connection to DAEMON, with FILTER and SENTINEL."
  (let ((common (list :name "hunch" :noquery t :nowait t :coding 'binary :filter filter :sentinel sentinel))
        (socket (alist-get 'socket daemon))
        (url (alist-get 'url daemon)))
    (apply #'make-network-process
           (if (and socket (featurep 'make-network-process '(:family local)))
               (append common (list :family 'local :service socket))
             (append common (list :host "127.0.0.1" :family 'ipv4
                                  :service (string-to-number (car (last (split-string url ":"))))))))))

(defun hunch--exchange (daemon text timeout done)
  "Send TEXT to DAEMON and call DONE once.
DONE gets a failure and nil, or nil and (STATUS . BODY).  A failure is
(KIND . MESSAGE) with KIND `absent', `slow' (after TIMEOUT seconds) or
`broken'."
  (let ((received nil) (connection nil) (timer nil) (finished nil))
    (cl-labels
        ((finish (failure response)
           (unless finished
             (setq finished t)
             (when timer (cancel-timer timer))
             (when connection (delete-process connection))
             ;; Outside of the filter: the callback may be slow, and may send requests.
             (run-at-time 0 nil done failure response)))
         (look (ended)
           (when-let ((response (hunch--response (apply #'concat (reverse received)) ended)))
             (finish nil response)))
         (absent (&rest _) (finish (cons 'absent "no daemon is running") nil)))
      (condition-case nil
          (progn
            (setq timer (run-at-time timeout nil
                                     (lambda ()
                                       (finish (cons 'slow (format "the daemon did not answer within %s s" timeout))
                                               nil))))
            (setq connection
                  (hunch--connect daemon
                                  (lambda (_ chunk) (push chunk received) (look nil))
                                  (lambda (process event)
                                    (cond ((string-prefix-p "open" event)
                                           (process-send-string process text))
                                          (finished nil)
                                          ((string-prefix-p "failed" event) (absent))
                                          (t (look t)
                                             (finish (cons 'broken "the daemon hung up in the middle of its answer")
                                                     nil))))))
            ;; A local connection may open at once, without calling the sentinel.
            (when (and (alist-get 'socket daemon) (eq (process-status connection) 'open))
              (process-send-string connection text)))
        (file-error (absent))))))

(defun hunch--answered (daemon)
  "Note that DAEMON has answered."
  (let ((troubled hunch--trouble)
        (before hunch--token))
    (setq hunch--trouble nil
          hunch--token (alist-get 'token daemon))
    (when troubled (run-hooks 'hunch--on-answer))
    (when (and before (not (equal before hunch--token))) (run-hooks 'hunch--on-return))))

(defun hunch--refusal (status answer)
  "Return the failure in ANSWER with STATUS: (refused . MESSAGE).
The message has the status and the code as properties."
  (let* ((said (alist-get 'error answer))
         (message (or (alist-get 'message said) (format "the daemon answered %d" status))))
    (cons 'refused (propertize message 'status status 'code (alist-get 'code said)))))

(defun hunch--status-of (failure)
  "Return the HTTP status of FAILURE, or nil."
  (and (eq (car failure) 'refused) (get-text-property 0 'status (cdr failure))))

(cl-defun hunch--ask (method path done &key query body headers (timeout hunch--patience) tried)
  "Send a request of METHOD to PATH; call DONE later.
QUERY and HEADERS are alists, BODY is what `json-serialize' takes,
TIMEOUT is in seconds.  TRIED is a token that was refused just now.
DONE gets FAILURE, ANSWER and STATUS; FAILURE is nil or (KIND . MESSAGE),
KIND one of `absent', `slow', `broken', `protocol', `refused'."
  (let* ((daemon (hunch--rendezvous))
         (failure (cond ((stringp daemon) (cons 'absent daemon))
                        ((not (eql (alist-get 'protocol daemon) hunch--protocol))
                         (cons 'protocol
                               (format "the daemon speaks protocol %s, this package %d: update the older one"
                                       (alist-get 'protocol daemon) hunch--protocol))))))
    (if failure
        (progn (setq hunch--trouble (cdr failure))
               (run-at-time 0 nil done failure nil nil))
      (let ((content (and body (encode-coding-string (json-serialize body) 'utf-8))))
        (hunch--exchange
         daemon
         (concat (encode-coding-string (hunch--head daemon method (hunch--target path query) headers content) 'utf-8)
                 content)
         timeout
         (lambda (broken response)
           (cond
            (broken
             (setq hunch--trouble (cdr broken))
             (funcall done broken nil nil))
            ;; The daemon may have just been restarted: the file has its new token by now.
            ((and (eql (car response) 401) (not (equal tried (alist-get 'token daemon))))
             (hunch--ask method path done :query query :body body :headers headers :timeout timeout
                         :tried (alist-get 'token daemon)))
            (t
             (hunch--deliver daemon (car response) (cdr response) done)))))))))

(defun hunch--deliver (daemon status content done)
  "Pass the answer of DAEMON, CONTENT with STATUS, to DONE."
  (let* ((good t)
         (answer (condition-case nil
                     (and (not (string-empty-p content)) (hunch--parse content))
                   (error (setq good nil)))))
    (cond ((not good)
           (setq hunch--trouble "the daemon's answer is no JSON")
           (funcall done (cons 'broken hunch--trouble) nil status))
          ((>= status 400)
           (let ((refusal (hunch--refusal status answer)))
             (setq hunch--trouble (and (= status 401) (cdr refusal)))
             (funcall done refusal answer status)))
          (t
           (hunch--answered daemon)
           (funcall done nil answer status)))))

(defun hunch--start (done)
  "Run `hunch start' and call DONE with nil or a failure.
Who asks meanwhile waits for the same one."
  (cond
   (hunch--starting (push done hunch--starting))
   ((not (executable-find hunch-command))
    (funcall done (cons 'absent (format "no daemon is running, and there is no `%s' to start it" hunch-command))))
   (t
    (push done hunch--starting)
    (let ((output (generate-new-buffer " *hunch start*")))
      (make-process
       :name "hunch start" :command (list hunch-command "start") :buffer output :noquery t :connection-type 'pipe
       :sentinel
       (lambda (process _)
         (unless (process-live-p process)
           (let ((waiting (nreverse hunch--starting))
                 (failure (unless (eql 0 (process-exit-status process))
                            (cons 'absent (or (car (split-string (with-current-buffer output (buffer-string)) "\n" t))
                                              "`hunch start' failed")))))
             (setq hunch--starting nil)
             (kill-buffer output)
             (when failure (setq hunch--trouble (cdr failure)))
             (dolist (each waiting) (funcall each failure))))))))))

(defun hunch--ask-or-start (method path done &rest more)
  "Like `hunch--ask' of METHOD, PATH, DONE and MORE, for a user's request.
The daemon is started when there is none."
  (apply #'hunch--ask method path
         (lambda (failure answer status)
           (if (not (and (eq (car failure) 'absent) hunch-start))
               (funcall done failure answer status)
             (hunch--start (lambda (trouble)
                             (if trouble
                                 (funcall done trouble nil nil)
                               (apply #'hunch--ask method path done more))))))
         more))

(defun hunch--start-once (done)
  "Start the daemon automatically, and call DONE when it runs.
Once only, so that a daemon that you have stopped stays so."
  (when (and hunch-start (not hunch--tried))
    (setq hunch--tried t)
    (hunch--start (lambda (failure) (unless failure (funcall done))))))

(provide 'hunch-client)
;;; hunch-client.el ends here
